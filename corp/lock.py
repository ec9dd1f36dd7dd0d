"""One process at a time in a run directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corp.errors import OutputUnusable

LOCK = "run.lock"


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Hold ``target``'s lock; the kernel releases it when the process dies, however it dies.

    Raises:
        OutputUnusable: another process holds it.
    """
    handle = os.open(target / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputUnusable(
                f"another process is running the job in {target}", hint="wait for it, or stop it first"
            ) from None
        yield
    finally:
        os.close(handle)
