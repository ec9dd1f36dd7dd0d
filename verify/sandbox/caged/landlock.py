"""Landlock: no file, no TCP, no signal and no abstract socket outside, as far as the kernel knows them.

Runs inside the caged process, on the standard library alone. The rule set has no rule: the cage imports what
it needs before, so that nothing has to be allowed.
"""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE, _RESTRICT = 444, 446  # the same on x86_64 and aarch64
_VERSION = 1
# Access rights that a version of the interface knows: 13 in the first, then refer, truncate and ioctl.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP = 0b11  # bind, connect; from version 4
_SCOPED = 0b11  # abstract sockets, signals; from version 6


def version(libc: ctypes.CDLL) -> int:
    """Of the interface; 0 where there is none."""
    return max(0, int(libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))))


def restrict(libc: ctypes.CDLL) -> None:
    """Shut this process in; `no_new_privs` is set already.

    Raises:
        OSError: there is no Landlock, or it refuses.
    """
    rules = ruleset(libc)
    refused = libc.syscall(_RESTRICT, rules, ctypes.c_uint32(0))
    os.close(rules)
    if refused:
        raise OSError(ctypes.get_errno(), "Landlock did not shut the process in")


def ruleset(libc: ctypes.CDLL) -> int:
    """As much as the kernel takes: some claim a version and lack a right of it.

    Raises:
        OSError: it takes nothing.
    """
    for known in range(version(libc), 0, -1):
        fields = struct.pack(f"={len(rights(known))}Q", *rights(known))
        buffer = ctypes.create_string_buffer(fields, len(fields))
        rules = int(libc.syscall(_CREATE, buffer, ctypes.c_size_t(len(fields)), ctypes.c_uint32(0)))
        if rules >= 0:
            return rules
    raise OSError(ctypes.get_errno(), "the kernel has no Landlock, or refuses it")


def rights(known: int) -> list[int]:
    """Files, TCP ports and scopes that version `known` can handle; what is handled is denied."""
    files = (1 << _FILE_RIGHTS[min(known, 5)]) - 1
    return [files] + [_TCP] * (known >= 4) + [_SCOPED] * (known >= 6)
