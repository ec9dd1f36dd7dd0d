"""Ten small attacks that must fail before anything else is run."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from verify.sandbox.result import Limits, Outcome, Program

if TYPE_CHECKING:
    from verify.sandbox.pool import Pool

_TRY = """
def out(f):
    try:
        f()
    except BaseException as error:
        return type(error).__name__
    return "out"
"""
_RAW = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"

# Each is refused with the exception named, so that an attack that merely broke counts as a failed test.
REFUSED: dict[str, tuple[str, str, object]] = {
    "read a file": (_TRY, "out(lambda: open('/etc/passwd').read())", "PermissionError"),
    "read an environment": (_TRY, "out(lambda: open('/proc/self/environ').read())", "PermissionError"),
    "write a file": (_TRY, "out(lambda: open('/tmp/.corp-sandbox-test', 'w'))", "PermissionError"),
    "ask for a file": (_TRY + "import os", "out(lambda: os.stat('/etc/passwd'))", "PermissionError"),
    "start a process": (_TRY + "import os", "out(lambda: os.fork())", "PermissionError"),
    "signal its parent": (_TRY + "import os", "out(lambda: os.kill(os.getppid(), 0))", "PermissionError"),
}
VALUES: dict[str, tuple[str, str, object]] = {
    "compute": ("def f(x): return x + 1", "f(1)", 2),
    "see an environment": ("import os", "sorted(os.environ)", ["LANG", "PATH", "PYTHONHASHSEED"]),
    "open a socket": (_RAW, "(libc.socket(2, 1, 0), ctypes.get_errno())", (-1, errno.EPERM)),
    "rename a file": (_RAW, "(libc.rename(b'/tmp', b'/t'), ctypes.get_errno())", (-1, errno.EPERM)),
}
ENDED = {
    "run on": ("while True: pass", Outcome.TIMEOUT),
    "take memory": ("x = bytearray(1 << 40)", Outcome.MEMORY),
}


def failed(pool: Pool) -> list[str]:
    """The attacks that did not end as they must.

    Raises:
        SandboxUnavailable: the cage cannot be built.
    """
    short = Limits(cpu=0.2)
    trials: list[tuple[str, Program, Outcome, tuple[object, ...]]] = [
        (name, Program(source, [call]), Outcome.OK, (value,))
        for name, (source, call, value) in (REFUSED | VALUES).items()
    ]
    trials += [(name, Program(source, [], "", short), end, ()) for name, (source, end) in ENDED.items()]
    results = pool.evaluate_many([program for _, program, _, _ in trials])
    return [
        name
        for (name, _, outcome, values), result in zip(trials, results, strict=True)
        if result.verdict is not outcome or result.values != values
    ]
