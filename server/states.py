"""What a job can be and become. Whether it ran (status) is apart from whether it helped (outcome)."""

from __future__ import annotations

from typing import Literal

Status = Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]
STATUSES: tuple[Status, ...] = ("queued", "running", "cancelling", "succeeded", "failed", "cancelled")
TERMINAL: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})

# A job that was asked to stop may still end by itself first, hence cancelling → succeeded and → failed.
TRANSITIONS: dict[str, frozenset[str]] = {
    "queued": frozenset({"running", "cancelled", "failed"}),
    "running": frozenset({"queued", "cancelling", "succeeded", "failed"}),
    "cancelling": frozenset({"cancelled", "succeeded", "failed"}),
    "succeeded": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}


def actions(status: str) -> tuple[str, ...]:
    """What a client may ask of a job in this state."""
    return () if status in ("succeeded", "failed") else ("cancel",)
