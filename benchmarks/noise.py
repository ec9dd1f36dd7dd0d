"""Speed of noise: on one thread against torch.randn and numpy's Philox; of the real model's candidates."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from population.checkpoint import Checkpoint
from population.direction import Component, Law
from population.noise import gaussian, perturb
from population.scope import select

VALUES, ROUNDS, CALLS = 1 << 20, 15, 8
"""Many short calls: on a shared machine the best one shows what the code can do."""


def main(model: Path) -> dict[str, float]:
    """Print and return rates in M values/s on one thread, their ratios, and seconds per candidate."""
    rates = generators()
    row = {f"{name}, M values/s": rate / 1e6 for name, rate in rates.items()}
    row["gaussian / torch.randn"] = rates["gaussian"] / rates["torch.randn"]
    row["gaussian / numpy Philox"] = rates["gaussian"] / rates["numpy Philox"]
    checkpoint = Checkpoint.open(model)
    for threads in (1, 2):
        row[f"candidate of {model.name}, {threads} thread(s), s"] = perturb_seconds(
            checkpoint, threads=threads
        )
    for name, value in row.items():
        print(f"{name:<62}{value:10.3f}")
    return row


def generators() -> dict[str, float]:
    """Values per CPU second of one thread; turns alternate, so that a busy machine slows all alike."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    buffer, philox = np.empty(VALUES, np.float32), np.random.Generator(np.random.Philox(0))
    calls: dict[str, Callable[[], object]] = {
        "gaussian": lambda: gaussian(1, "w", 0, VALUES),
        "torch.randn": lambda: torch.randn(VALUES),
        "numpy Philox": lambda: philox.standard_normal(out=buffer, dtype=np.float32),
    }
    for call in calls.values():
        call()
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            best[name] = min(best[name], *(cpu_seconds(call) for _ in range(CALLS)))
    torch.set_num_threads(threads)
    return {name: VALUES / took for name, took in best.items()}


def perturb_seconds(checkpoint: Checkpoint, *, threads: int = 1, rounds: int = 3) -> float:
    """Seconds to write one full-noise candidate of every weight, in memory, in the stored dtype."""
    law = Law()
    names = select(checkpoint.tensors, law.scope)
    bases = {name: checkpoint.read(name) for name in names}
    outs = {name: np.empty_like(base) for name, base in bases.items()}

    def candidate() -> None:
        for name, base in bases.items():
            info = checkpoint.tensors[name]
            perturb(
                outs[name], base, law, name, info.shape, [Component(1, 1e-3)],
                storage=info.dtype, threads=threads,
            )  # fmt: skip

    candidate()
    return min(seconds(candidate) for _ in range(rounds))


def cpu_seconds(call: Callable[[], object]) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
