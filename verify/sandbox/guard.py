"""The sandbox that everybody uses: tested before the first program, and closed where the test fails."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from verify.errors import SandboxUnavailable
from verify.sandbox.caged import landlock, seccomp
from verify.sandbox.pool import Layers, Pool
from verify.sandbox.result import DEFAULT, Level, Limits, Outcome, Program, Result
from verify.sandbox.selftest import failed, failed_files

MINIMUM = "CORP_SANDBOX_MIN_LEVEL"
WORKERS = 2

_RANK = {Level.NONE: 0, Level.REDUCED: 1, Level.STRICT: 2}


@dataclass(frozen=True, slots=True)
class _Tested:
    level: Level
    reason: str
    pool: Pool | None


_lock = threading.Lock()
_tested: _Tested | None = None


def level() -> Level:
    """How well this machine can hold untrusted code; the first call tries it out, in about a second."""
    return _tried().level


def require() -> Pool:
    """The shared pool.

    Raises:
        SandboxUnavailable: the level is below the minimum, `strict` unless `CORP_SANDBOX_MIN_LEVEL` says
            `reduced`.
    """
    least, found = minimum(), _tried()
    if found.pool is None or _RANK[found.level] < _RANK[least]:
        raise SandboxUnavailable(
            f"untrusted code is not run here: the sandbox reaches level {found.level}, {least} is needed"
            f" ({found.reason})",
            hint="docs/sandbox.md says what a machine must offer",
        )
    return found.pool


def minimum() -> Level:
    """Raises:
    SandboxUnavailable: the variable names no level that runs code.
    """
    stated = os.environ.get(MINIMUM, Level.STRICT)
    if stated not in (Level.STRICT, Level.REDUCED):
        raise SandboxUnavailable(f"{MINIMUM}={stated!r}", hint="it is strict or reduced")
    return Level(stated)


def evaluate(
    source: str,
    calls: Sequence[str],
    *,
    limits: Limits = DEFAULT,
    setup: str = "",
) -> Result:
    """Run `source`, then `setup`, then evaluate each call, in a new caged process.

    Raises:
        SandboxUnavailable: this machine cannot hold untrusted code.
    """
    return require().evaluate(source, calls, limits=limits, setup=setup)


def evaluate_many(programs: Sequence[Program]) -> list[Result]:
    """As `evaluate`, in the order given, several at a time."""
    return require().evaluate_many(programs)


def check(
    source: str,
    calls: Sequence[str],
    expected: Sequence[object],
    *,
    limits: Limits = DEFAULT,
    setup: str = "",
) -> Result:
    """`evaluate`, then compare here, where the program cannot see or touch the expected values.

    Both sides are plain builtins, so `==` means what it means in the data set: 240.0 equals 240.

    Raises:
        ValueError: not one expected value per call.
        SandboxUnavailable: this machine cannot hold untrusted code.
    """
    if len(calls) != len(expected):
        raise ValueError(f"{len(expected)} expected values for {len(calls)} calls")
    result = evaluate(source, calls, limits=limits, setup=setup)
    if result.verdict is not Outcome.OK:
        return result
    wrong = [
        number for number, pair in enumerate(zip(result.values, expected, strict=True)) if not same(*pair)
    ]
    if not wrong:
        return result
    return replace(
        result, verdict=Outcome.WRONG, detail=f"call {wrong[0]} of {len(calls)} gives another value"
    )


def same(value: object, expected: object) -> bool:
    return bool(value == expected)


def shutdown() -> None:
    """End the shared pool's processes; the next use starts new ones."""
    global _tested
    with _lock:
        if _tested is not None and _tested.pool is not None:
            _tested.pool.close()
        _tested = None


def _tried() -> _Tested:
    global _tested
    with _lock:
        if _tested is None:
            _tested = _try()
        return _tested


def _try() -> _Tested:
    if not seccomp.supported():
        return _Tested(Level.NONE, "it needs Linux on x86-64 or ARM64", None)
    known = landlock.version(ctypes.CDLL(None))
    layers = Layers(landlock=known > 0)
    pool = Pool(WORKERS, layers=layers)
    if weakness := _weakness(pool, layers):
        pool.close()
        return _Tested(Level.NONE, weakness, None)
    reason = f"Landlock version {known}" if known else "the kernel has no Landlock"
    return _Tested(layers.level, reason, pool)


def _weakness(pool: Pool, layers: Layers) -> str:
    """Why nothing may run in this pool; empty where it holds."""
    try:
        holes = failed(pool)
        if layers.landlock and not holes:
            with Pool(1, layers=replace(layers, seccomp=False), cached=False) as weaker:
                holes = failed_files(weaker)
    except SandboxUnavailable as error:
        return error.detail
    return f"its self-test got out: {', '.join(holes)}" if holes else ""


def _forget() -> None:
    """In a forked process: its parent's workers are not its own, and its parent's lock may never open."""
    global _lock, _tested
    _lock, _tested = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
