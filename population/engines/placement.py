"""Where and in which dtype an engine computes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from population.errors import ModelUnsupported

if TYPE_CHECKING:
    import torch

CPUINFO = Path("/proc/cpuinfo")
WIDER = {  # compute dtypes that hold every value of a storage dtype
    "bfloat16": ("bfloat16", "float32"),
    "float16": ("float16", "float32"),
    "float32": ("float32",),
}


def find_device(name: str) -> torch.device:
    """``auto``, ``cpu`` or ``cuda`` as a device of this machine.

    Raises:
        ModelUnsupported: no such device here.
    """
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise ModelUnsupported("device cuda: torch sees no GPU", hint="use device auto or cpu")
    if name not in ("cpu", "cuda"):
        raise ModelUnsupported(f"unknown device {name!r}", hint="use auto, cpu or cuda")
    return torch.device(name)


def compute_dtype(compute: str, storage: str, device: str) -> str:
    """The dtype to compute in; ``auto`` takes the fastest that holds every value of ``storage``.

    Raises:
        ModelUnsupported: a dtype that is unknown or too narrow for the storage dtype.
    """
    if storage not in WIDER:
        raise ModelUnsupported(f"unknown storage dtype {storage!r}", hint=f"use {', '.join(WIDER)}")
    if compute == "auto":
        fast = device == "cuda" or (storage == "bfloat16" and _multiplies_bfloat16())
        return storage if fast else "float32"
    if compute not in WIDER[storage]:
        raise ModelUnsupported(
            f"weights stored as {storage} cannot be computed with as {compute}",
            hint=f"use auto, {' or '.join(WIDER[storage])}",
        )
    return compute


def _multiplies_bfloat16() -> bool:
    """Whether this CPU has bfloat16 arithmetic; emulated, it runs at a tenth of float32's speed."""
    try:
        return re.search(r"\b(avx512_bf16|amx_bf16|bf16)\b", CPUINFO.read_text()) is not None
    except OSError:
        return False


def cores() -> int:
    """Physical cores that this process may use."""
    import psutil

    return min(len(os.sched_getaffinity(0)), psutil.cpu_count(logical=False) or 1)
