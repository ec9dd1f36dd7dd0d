"""Directories that are being built beside their target, and the files in them."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corp.errors import DiskFull, OutputUnusable


def _prefix(target: Path) -> str:
    return f".{target.name}.partial-"


def remove_stale(target: Path) -> None:
    """Remove what killed exports to ``target`` left; a live one holds a lock on its directory."""
    for path in target.absolute().parent.glob(f"{_prefix(target)}*"):
        with _held(path):
            shutil.rmtree(path)


@contextmanager
def partial(target: Path) -> Iterator[Path]:
    """A directory beside ``target`` to build in; removed unless it was published."""
    folder = target.absolute().parent / f"{_prefix(target)}{secrets.token_hex(8)}"
    folder.mkdir()
    try:
        with _held(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the directory's lock; the kernel releases it when the process dies, however it dies.

    Raises:
        OutputUnusable: another process holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise OutputUnusable(
            f"another process is exporting into {folder}", hint="wait for it, or stop it first"
        ) from None
    finally:
        os.close(descriptor)


@contextmanager
def new_file(path: Path, size: int) -> Iterator[int]:
    """A new file of ``size`` bytes, its blocks reserved, readable to whom the umask allows."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        _reserve(descriptor, size)
        yield descriptor
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(
            f"the disk filled up while {path.name} ({size:,} bytes) was written to {path.parent.parent}",
            hint="free some space and start again; nothing was published",
        ) from None
    finally:
        os.close(descriptor)


def _reserve(descriptor: int, size: int) -> None:
    try:
        if size:
            os.posix_fallocate(descriptor, 0, size)
    except OSError as error:  # some file systems cannot reserve; there a full disk shows when it is written
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        os.ftruncate(descriptor, size)


def write_at(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(descriptor, data, offset)
        data, offset = data[count:], offset + count
