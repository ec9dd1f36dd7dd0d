"""What ``corp doctor`` looks at: whether this machine can run jobs, and how well."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

Level = Literal["ok", "warn", "fail"]

MEMORY_BYTES = 2_000_000_000  # a 135 M model in bfloat16 with its copy, activations and the interpreter
DISK_BYTES = 5_000_000_000
SQLITE = (3, 35)  # UPDATE … RETURNING

# noise contract v1: the first values of (seed 42, this tensor, stream 0)
TENSOR = "model.embed_tokens.weight"
KNOWN = (-2.2394023, -0.56452179, 2.3012724, -0.08180908, 2.0538394, -0.58759457)


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's result; ``hint`` says what to do when it is not ok."""

    name: str
    level: Level
    detail: str
    hint: str = ""


def examine(folder: Path) -> list[Finding]:
    """Every check; one that cannot be made has failed.

    Args:
        folder: where runs would be kept, for the free disk.
    """
    checks: Sequence[Callable[[], Finding]] = (
        python,
        torch_version,
        transformers_version,
        processors,
        bfloat16,
        device,
        memory,
        lambda: disk(folder),
        noise,
        sqlite,
    )
    return [_guarded(check) for check in checks]


def _guarded(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as error:
        name = getattr(check, "__name__", "check")
        return Finding(name, "fail", f"{type(error).__name__}: {error}", "reinstall from constraints.txt")


def python() -> Finding:
    found = platform.python_version()
    level: Level = "ok" if sys.version_info >= (3, 11) else "fail"
    return Finding("python", level, f"{found} on {platform.system()} {platform.machine()}", "3.11 or newer")


def torch_version() -> Finding:
    return _package("torch", (2, 13))


def transformers_version() -> Finding:
    return _package("transformers", (5, 16, 1))


def _package(name: str, least: tuple[int, ...]) -> Finding:
    wanted = ".".join(map(str, least))
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(name, "fail", "not installed", f"pip install '{name}>={wanted}'")
    numbers = tuple(int(part) for part in found.split("+")[0].split(".")[:3] if part.isdigit())
    return Finding(name, "ok" if numbers >= least else "fail", found, f"needs {wanted} or newer")


def processors() -> Finding:
    import torch

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Finding("threads", "ok", f"{usable} usable cores, torch uses {torch.get_num_threads()} threads")


def bfloat16() -> Finding:
    """Whether the CPU multiplies bfloat16 itself; if not, float32 arithmetic is faster."""
    import torch

    features = torch.backends.cpu.get_cpu_capability()
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        flags = set()
    units = sorted(flags & {"avx512_bf16", "amx_bf16", "bf16"})
    detail = f"{', '.join(units) or 'no units'} ({features})"
    return Finding("bfloat16", "ok", detail if units else f"{detail}; engine.compute=auto takes float32")


def device() -> Finding:
    import torch

    if torch.cuda.is_available():
        return Finding("device", "ok", torch.cuda.get_device_name(0))
    return Finding(
        "device", "warn", "no GPU, jobs run on the CPU", "fine for models below about 1 B parameters"
    )


def memory() -> Finding:
    import psutil

    free = psutil.virtual_memory().available
    level: Level = "ok" if free >= MEMORY_BYTES else "warn"
    return Finding("memory", level, f"{free / 1e9:.1f} GB available", "a model needs twice its size and some")


def disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    level: Level = "ok" if free >= DISK_BYTES else "warn"
    return Finding(
        "disk", level, f"{free / 1e9:.1f} GB free at {folder}", "an export is as large as its base"
    )


def noise() -> Finding:
    """The noise contract's known answer: other bits here would be other weights everywhere."""
    from population.noise import gaussian

    values = [float(value) for value in gaussian(42, TENSOR, 0, len(KNOWN))]
    same = all(abs(value - known) < 1e-6 for value, known in zip(values, KNOWN, strict=True))
    detail = "known answer" if same else f"got {values}"
    return Finding("noise", "ok" if same else "fail", detail, "recipes of this machine would not rebuild")


def sqlite() -> Finding:
    level: Level = "ok" if sqlite3.sqlite_version_info >= SQLITE else "fail"
    return Finding("sqlite", level, sqlite3.sqlite_version, f"needs {'.'.join(map(str, SQLITE))} or newer")
