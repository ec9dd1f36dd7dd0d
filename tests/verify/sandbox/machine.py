"""What this machine offers, asked of the kernel, not of the sandbox: no test skips because that is broken."""

from __future__ import annotations

import ctypes
import platform
from pathlib import Path

import pytest


def capable() -> bool:
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        return False
    landlock = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return landlock > 0 and Path("/proc/sys/kernel/seccomp/actions_avail").exists()


strict = pytest.mark.skipif(not capable(), reason="this kernel has no Landlock or no seccomp")
