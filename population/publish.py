"""The one way a file or a directory comes into being: whole or not at all.

Bytes go to a temporary name in the same directory, are flushed to the disk, and take their place by a rename,
which is atomic. Flushing the directory makes the rename itself survive a power cut.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import secrets
from pathlib import Path

from population.errors import DiskFull, TargetExists

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1


def publish_bytes(path: Path, data: bytes) -> None:
    """Put `data` at `path`, replacing what is there in one step.

    A reader, and a process that starts after a crash, sees the old content or the new, never a mixture. On a
    failure the old content stays and the temporary file is removed; only a killed process leaves one behind,
    named ``.NAME.*.partial``.

    Raises:
        DiskFull: no room for the data.
        OSError: the directory is missing or not writable.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        _write(temporary, data)
        os.replace(temporary, path)
        flush(path.parent)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(
            f"no room on the disk for {path} ({len(data):,} bytes)",
            hint="free some space and start again; what was there before is unchanged",
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def publish_json(path: Path, value: object) -> None:
    """Publish `value` as JSON with sorted keys, so that equal values give equal bytes.

    Raises:
        ValueError: a NaN or an infinity, which JSON does not have.
        DiskFull, OSError: as `publish_bytes`.
    """
    text = json.dumps(value, indent=2, sort_keys=True, allow_nan=False)
    publish_bytes(path, f"{text}\n".encode())


def publish_directory(partial: Path, final: Path) -> None:
    """Flush everything under `partial` and rename it to `final`, which must not exist.

    Both must lie on one file system.

    Raises:
        TargetExists: something is at `final`; `partial` is left as it is.
        OSError: `partial` is missing or cannot be flushed.
    """
    for folder, _, names in os.walk(partial, topdown=False):
        for name in names:
            flush(Path(folder, name))
        flush(Path(folder))
    try:
        _rename_without_replacing(partial, final)
    except FileExistsError:
        raise TargetExists(
            f"{final} exists already and is not replaced", hint="move it away or name another place"
        ) from None
    for parent in {final.absolute().parent, partial.absolute().parent}:
        flush(parent)


def flush(path: Path) -> None:
    """Wait until a file's bytes, or a directory's entries, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, data: bytes) -> None:
    # os.open applies the process's umask to 0666; tempfile would leave 0600, unreadable to a server's user.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _rename_without_replacing(source: Path, target: Path) -> None:
    """rename(2) would silently take the place of an empty directory; renameat2 (Linux 3.15) refuses."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None:
        names = os.fsencode(source), os.fsencode(target)
        if rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_NOREPLACE) == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.ENOSYS, errno.EINVAL):
            raise OSError(code, os.strerror(code), str(source), None, str(target))
    # A C library or file system without it: two publishers of one name could both pass this check, but a run
    # directory has one owner.
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    os.rename(source, target)
