"""The installed release."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "corp-posttrain"


def installed() -> str:
    """The version of the installed distribution, or ``unknown`` when run from a bare source tree."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
