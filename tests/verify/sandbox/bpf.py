"""A small interpreter of classic BPF, and filters that make a machine poorer: for tests of the sandbox."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import sys
from collections.abc import Mapping

ALLOW = 0x7FFF0000
_X86 = platform.machine() == "x86_64"
SECCOMP = 317 if _X86 else 277
LANDLOCK = (444, 445, 446)  # the same everywhere


def run(code: bytes, architecture: int, number: int, argument: int) -> int:
    """What the filter returns for a call, by the semantics of linux/filter.h."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, argument, 0, 0, 0, 0, 0)
    accumulator, position = 0, 0
    while True:
        operation, if_true, if_false, constant = struct.unpack_from("=HBBI", code, 8 * position)
        position += 1
        match operation:
            case 0x20:  # BPF_LD | BPF_W | BPF_ABS
                (accumulator,) = struct.unpack_from("=I", data, constant)
            case 0x15:  # BPF_JMP | BPF_JEQ | BPF_K
                position += if_true if accumulator == constant else if_false
            case 0x45:  # BPF_JMP | BPF_JSET | BPF_K
                position += if_true if accumulator & constant else if_false
            case 0x06:  # BPF_RET | BPF_K
                return int(constant)
            case _:
                raise AssertionError(f"operation {operation:#x}")


def deny(errors: Mapping[int, int]) -> None:
    """This process and all that it starts get these errors from these calls."""
    lines = [(0x20, 0, 0, 0)]
    for number, error in errors.items():
        lines += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | error)]
    lines.append((0x06, 0, 0, ALLOW))
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = struct.pack("@HP", len(lines), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    if libc.syscall(SECCOMP, 1, 0, ctypes.create_string_buffer(filter_program, len(filter_program))):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":  # python -m tests.verify.sandbox.bpf '{"444": 38}' CODE
    deny({int(number): error for number, error in json.loads(sys.argv[1]).items()})
    exec(sys.argv[2])  # noqa: S102 - the test's own words
