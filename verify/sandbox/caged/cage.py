"""Shutting a process in, layer by layer, before it runs a line of untrusted code.

Runs inside the sandbox's processes, on the standard library alone.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal

from . import landlock, seccomp

_PDEATHSIG, _DUMPABLE, _NO_NEW_PRIVS = 1, 4, 38
_NOBODY = 65_534
_GRACE = 1  # CPU seconds between SIGXCPU, which can be ignored, and SIGKILL

libc = ctypes.CDLL(None, use_errno=True)
_FILTER = seccomp.Filter()


def drop_user() -> None:
    """Become a user that owns nothing, where we are root.

    Raises:
        OSError: the kernel refuses.
    """
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def limit(cpu: float, memory: int) -> None:
    """CPU seconds, MiB; no files, no locked memory, no message queues, no core dumps."""
    seconds = math.ceil(cpu)
    pairs = {
        resource.RLIMIT_CPU: (seconds, seconds + _GRACE),
        resource.RLIMIT_AS: (memory << 20, memory << 20),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (16, 16),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_MEMLOCK: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
    }
    for name, pair in pairs.items():
        resource.setrlimit(name, pair)
    # the limit counts whole seconds, this timer less; the timer's signal can be caught, the limit's last not
    signal.setitimer(signal.ITIMER_PROF, cpu)


def end_with(parent: int) -> None:
    """Be killed when `parent` ends, or end now where it has."""
    libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def shut(layers: list[str]) -> None:
    """Landlock and seccomp, no more privileges, no ptrace.

    Raises:
        OSError: a layer cannot be applied; nothing untrusted may run then.
    """
    libc.prctl(_DUMPABLE, 0, 0, 0, 0)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")
    if "landlock" in layers:
        landlock.restrict(libc)
    if "seccomp" in layers:
        _FILTER.install(libc)
