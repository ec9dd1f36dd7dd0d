"""Small attacks that must fail before anything else is run: a layer is believed when it has held."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from verify.sandbox.result import Limits, Outcome, Program

if TYPE_CHECKING:
    from verify.sandbox.pool import Pool

_Trial = tuple[str, Program, Outcome, tuple[object, ...]]  # what is tried, and how it must end

_TRY = """
def out(f):
    try:
        f()
    except BaseException as error:
        return type(error).__name__
    return "out"
"""
_WALL = 60.0  # seconds: a machine that is busy when it starts is not a machine that cannot hold programs
_RAW = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"

# Each is refused with the exception named, so that an attack that merely broke counts as a failed test.
FILES: dict[str, tuple[str, str, object]] = {
    "read a file": (_TRY, "out(lambda: open('/etc/passwd').read())", "PermissionError"),
    "read an environment": (_TRY, "out(lambda: open('/proc/self/environ').read())", "PermissionError"),
    "write a file": (_TRY, "out(lambda: open('/dev/null', 'w'))", "PermissionError"),
    "list a directory": (_TRY + "import os", "out(lambda: os.listdir('/'))", "PermissionError"),
}
CALLS: dict[str, tuple[str, str, object]] = {
    "compute": ("def f(x): return x + 1", "f(1)", 2),
    "see an environment": ("import os", "sorted(os.environ)", ["LANG", "PATH", "PYTHONHASHSEED"]),
    "be root": ("import os", "0 in (os.getuid(), os.geteuid())", False),
    "ask for a file": (_TRY + "import os", "out(lambda: os.stat('/etc/passwd'))", "PermissionError"),
    "start a process": (_TRY + "import os", "out(lambda: os.fork())", "PermissionError"),
    "signal its parent": (_TRY + "import os", "out(lambda: os.kill(os.getppid(), 0))", "PermissionError"),
    "open a socket": (_RAW, "(libc.socket(2, 1, 0), ctypes.get_errno())", (-1, errno.EPERM)),
    "rename a file": (_RAW, "(libc.rename(b'/tmp', b'/t'), ctypes.get_errno())", (-1, errno.EPERM)),
}
ENDS = {
    "run on": ("while True: pass", Limits(cpu=0.2, wall=5.0), Outcome.TIMEOUT),
    "take memory": ("x = bytearray(768 << 20)", Limits(wall=_WALL), Outcome.MEMORY),
}


def failed(pool: Pool) -> list[str]:
    """The attacks that did not end as they must.

    Raises:
        SandboxUnavailable: the cage cannot be built.
    """
    ends = [(name, Program(source, [], "", limits), end) for name, (source, limits, end) in ENDS.items()]
    return _unlike(pool, [*_valued(FILES | CALLS), *((*trial, ()) for trial in ends)])


def failed_files(pool: Pool) -> list[str]:
    """Of the attacks on files alone, which Landlock must stop without the call filter's help.

    Raises:
        SandboxUnavailable: the cage cannot be built.
    """
    return [f"{name} (Landlock alone)" for name in _unlike(pool, _valued(FILES))]


def _valued(attacks: dict[str, tuple[str, str, object]]) -> list[_Trial]:
    patient = Limits(wall=_WALL)
    return [
        (name, Program(source, [call], "", patient), Outcome.OK, (value,))
        for name, (source, call, value) in attacks.items()
    ]


def _unlike(pool: Pool, trials: list[_Trial]) -> list[str]:
    results = pool.evaluate_many([program for _, program, _, _ in trials])
    return [
        name
        for (name, _, outcome, values), result in zip(trials, results, strict=True)
        if result.verdict is not outcome or result.values != values
    ]
