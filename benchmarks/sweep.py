"""A CoRP stage 1 sweep on the real model: one pass over the noise against regenerating it per point.

21 directions (3 quantiles × 7 temperatures) × 6 scales = 126 points. Regeneration is measured on three points
and multiplied. Both sides write the same bits.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.noise import seconds
from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.noise import perturb
from population.sweep import SweepSums, bytes_needed

DIRECTIONS, SCALES = 21, (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
ELITES = (24, 50)
"""Half of a population of 48, as in the demo, and the paper's top tenth of 500."""


def main(model: Path) -> dict[str, float]:
    """Print and return seconds of both ways, their ratio and the noise values drawn, per number of elites."""
    checkpoint = Checkpoint.open(model)
    row: dict[str, float] = {}
    for elites in ELITES:
        row |= {f"{elites} elites: {name}": value for name, value in measure(checkpoint, elites).items()}
    for name, value in row.items():
        print(f"{name:<62}{value:14.2f}")
    return row


def measure(checkpoint: Checkpoint, elites: int, threads: int | None = None) -> dict[str, float]:
    threads = threads or len(os.sched_getaffinity(0))
    directions = sweep_directions(elites)
    weights = Weights(checkpoint, threads)
    points = len(directions) * len(SCALES)
    weights.regenerate(directions[0], 1.0)  # compiles and touches the memory
    folder = scratch(bytes_needed(checkpoint, Law(), len(directions)))
    built: list[SweepSums] = []
    pass_s = seconds(
        lambda: built.append(
            SweepSums.build(checkpoint, directions, folder / "sweep.scratch", threads=threads)
        )
    )
    with built[0] as sums:
        apply_s = seconds(lambda: weights.stage_all(sums))
        staged = weights.copy()
    measured = [directions[0], directions[len(directions) // 2], directions[-1]]
    regenerate_s = sum(seconds(partial(weights.regenerate, direction, SCALES[-1])) for direction in measured)
    assert all(np.array_equal(staged[name], out) for name, out in weights.outs.items())
    size = bytes_needed(checkpoint, Law(), 1) // 4
    return {
        "one pass over the noise, s": pass_s,
        f"{points} points from its sums, s": apply_s,
        f"{points} points regenerated, s (3 measured)": regenerate_s * points / 3,
        "ratio": regenerate_s * points / 3 / (pass_s + apply_s),
        "noise values drawn / (elites · weights)": sums.noise_values / (elites * size),
        "scratch, GB": bytes_needed(checkpoint, Law(), len(directions)) / 1e9,
        "scratch in memory": float(folder == Path("/dev/shm")),
    }


def sweep_directions(elites: int) -> list[Direction]:
    rng = np.random.default_rng(0)
    rows = rng.random((DIRECTIONS, elites)) * 1e-3
    return [Direction(tuple(Component(k, float(a)) for k, a in enumerate(row)), Law()) for row in rows]


def scratch(size: int) -> Path:
    """A memory-backed folder if that leaves a third of the free memory, else the temporary one on disk."""
    import psutil

    shm = Path("/dev/shm")
    room = min(shutil.disk_usage(shm).free, psutil.virtual_memory().available) if shm.is_dir() else 0
    return shm if size < room * 2 / 3 else Path(tempfile.gettempdir())


class Weights:
    """Base and live weights of the whole model in memory, as an engine holds them."""

    def __init__(self, checkpoint: Checkpoint, threads: int) -> None:
        self.tensors = checkpoint.tensors
        self.threads = threads
        self.bases = {name: checkpoint.read(name) for name in checkpoint.tensors}
        self.outs = {name: np.empty_like(base) for name, base in self.bases.items()}

    def regenerate(self, direction: Direction, step: float) -> None:
        for name, info in self.tensors.items():
            perturb(
                self.outs[name], self.bases[name], direction.law, name, info.shape, direction.components, step,
                storage=info.dtype, threads=self.threads,
            )  # fmt: skip

    def stage(self, sums: SweepSums, d: int, step: float) -> None:
        for name, info in self.tensors.items():
            sums.realise(
                d, step, name, self.outs[name], self.bases[name], storage=info.dtype, threads=self.threads
            )

    def stage_all(self, sums: SweepSums) -> None:
        for d in range(len(sums.directions)):
            for step in SCALES:
                self.stage(sums, d, step)

    def copy(self) -> Mapping[str, Any]:
        return {name: out.copy() for name, out in self.outs.items()}
