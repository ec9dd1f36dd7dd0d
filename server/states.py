"""What a job can be and become. Whether it ran (status) is apart from whether it helped (outcome)."""

from __future__ import annotations

from typing import Literal, get_args

Status = Literal["queued", "running", "paused", "cancelling", "succeeded", "failed", "cancelled"]
STATUSES: tuple[Status, ...] = get_args(Status)
TERMINAL: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})
SETTLED: frozenset[str] = TERMINAL | {"paused"}
"""Nothing more happens unless someone asks for it."""

# A job that was asked to stop may still end by itself first, hence cancelling → succeeded and → failed.
TRANSITIONS: dict[str, frozenset[str]] = {
    "queued": frozenset({"running", "cancelled", "failed"}),
    "running": frozenset({"queued", "paused", "cancelling", "succeeded", "failed"}),
    "paused": frozenset({"queued", "cancelled"}),
    "cancelling": frozenset({"cancelled", "succeeded", "failed"}),
    "succeeded": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}


def actions(status: str) -> tuple[str, ...]:
    """What a client may ask of a job in this state."""
    if status == "paused":
        return "resume", "cancel"
    return () if status in ("succeeded", "failed") else ("cancel",)
