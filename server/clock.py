"""Time as a value that is passed in, so that tests decide what time it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall time for people, monotonic time for leases.

    Args:
        wall: Unix seconds.
        monotonic: seconds that never go back. All processes of one boot share it, and only those compare
            leases: a lease of an earlier boot has a dead owner whatever its number says.
    """

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic

    def stamp(self) -> str:
        """Now as RFC 3339 in UTC with milliseconds."""
        text = datetime.fromtimestamp(self.wall(), UTC).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")
