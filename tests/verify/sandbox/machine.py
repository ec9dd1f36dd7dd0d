"""What this machine offers, asked of the kernel, not of the sandbox: no test skips because that is broken."""

from __future__ import annotations

import ctypes
import platform
import re
from pathlib import Path

import pytest

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def calls(machine: str) -> dict[str, int]:
    """The kernel's system calls by name; skips the test where its headers are not installed."""
    path = HEADERS[machine]
    if not path.exists():
        pytest.skip("the kernel's headers are not installed")
    pattern = r"#define __NR(?:3264)?_(\w+)\s+(\d+)"
    return {name: int(number) for name, number in re.findall(pattern, path.read_text())}


def capable() -> bool:
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        return False
    landlock = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return landlock > 0 and Path("/proc/sys/kernel/seccomp/actions_avail").exists()


strict = pytest.mark.skipif(not capable(), reason="this kernel has no Landlock or no seccomp")
