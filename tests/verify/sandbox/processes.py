"""What /proc says of this machine's processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def children(parent: int) -> list[int]:
    """Process ids of the direct children that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, owner = path.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(owner) == parent and state != "Z":
            found.append(int(path.parent.name))
    return found


def zygotes() -> list[int]:
    """Those that this process started."""
    mine = children(os.getpid())
    return [pid for pid in mine if b"zygote.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
