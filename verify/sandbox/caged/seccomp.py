"""A system call filter: what is not on the list is refused with EPERM.

Runs inside the caged process, on the standard library alone. The list is what CPython needs to compute, to
start threads and to write to descriptors that are open already. Nothing that takes a path is on it: not even
whether a file exists can be asked.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

ALLOW, KILL = 0x7FFF0000, 0x80000000
ERRNO = 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENT0 = 0, 4, 16  # offsets in struct seccomp_data
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000
_SET_SECCOMP, _FILTER, _TSYNC = 1, 2, 1

# name: number on x86_64, number on aarch64 (None where there is no such call)
CALLS: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "poll": (7, None),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "writev": (20, 66),
    "select": (23, None),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "exit": (60, 93),
    "uname": (63, 160),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "times": (100, 153),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "getppid": (110, 173),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "time": (201, None),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "pselect6": (270, 72),
    "ppoll": (271, 73),
    "set_robust_list": (273, 99),
    "getrandom": (318, 278),
    "rseq": (334, 293),
}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_CLONE, _CLONE3, _SECCOMP = (56, 220), (435, 435), (317, 277)


def supported() -> bool:
    """Whether this machine's calls are known; whether the kernel takes the filter shows when it is set."""
    return platform.system() == "Linux" and platform.machine() in _MACHINES


def program(machine: str) -> bytes:
    """The filter for `machine` as an array of struct sock_filter."""
    column, arch = _MACHINES[machine]
    numbers = [pair[column] for pair in CALLS.values()]
    lines = [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == 0:
        lines += [(_JUMP_SET, 0, 1, _X32), (_RETURN, 0, 0, KILL)]
    for number in numbers:
        if number is not None:
            lines += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, ALLOW)]
    # glibc falls back to clone, whose flags a filter can see
    lines += [(_JUMP_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, ERRNO | errno.ENOSYS)]
    lines += [(_JUMP_EQUAL, 0, 3, _CLONE[column]), (_LOAD, 0, 0, _ARGUMENT0)]
    lines += [(_JUMP_SET, 0, 1, _CLONE_THREAD), (_RETURN, 0, 0, ALLOW), (_RETURN, 0, 0, ERRNO | errno.EPERM)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


class Filter:
    """Made before processes are forked, so that each only has to set it."""

    def __init__(self) -> None:
        machine = platform.machine()
        code = program(machine)
        self._code = ctypes.create_string_buffer(code, len(code))
        fprog = struct.pack("@HP", len(code) // 8, ctypes.addressof(self._code))
        self._fprog = ctypes.create_string_buffer(fprog, len(fprog))
        self._number = _SECCOMP[_MACHINES[machine][0]]

    def install(self, libc: ctypes.CDLL) -> None:
        """Filter every thread of this process from now on; `no_new_privs` is set already.

        Raises:
            OSError: the kernel does not take the filter.
        """
        if libc.syscall(self._number, _SET_SECCOMP, _TSYNC, self._fprog) != 0:
            raise OSError(ctypes.get_errno(), "the system call filter was refused")
