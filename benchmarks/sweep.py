"""A CoRP stage 1 sweep on the real model: one pass over the noise against regenerating it per point.

21 directions (3 quantiles × 7 temperatures) × 6 scales = 126 points. Regeneration is measured on three points
and multiplied. Both ways write the same bits. Five layers of the model take part: every cost is proportional
to the number of weights, and the sums of all layers would fill a small machine's memory. On a disk that
writes slower than a few hundred MB/s, the scratch file costs more than the noise.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.noise import seconds
from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.noise import perturb
from population.scope import select
from population.sweep import SweepSums, bytes_needed

LAW = Law(scope=("model.layers.[0-4].*",))
DIRECTIONS, SCALES = 21, (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
POINTS = DIRECTIONS * len(SCALES)
ELITES = (24, 50, 250)
"""Half of a population of 48, as in the demo; the top tenth and the top half of the paper's 500."""


def main(model: Path) -> dict[str, float]:
    """Print and return seconds of both ways, their ratio and the noise values drawn, per number of elites."""
    checkpoint = Checkpoint.open(model)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        row = {
            f"{elites} elites: {name}": value
            for elites in ELITES
            for name, value in measure(checkpoint, elites, Path(folder) / "sums").items()
        }
    for name, value in row.items():
        print(f"{name:<62}{value:14.2f}")
    return row


def measure(checkpoint: Checkpoint, elites: int, scratch: Path) -> dict[str, float]:
    directions = sweep_directions(elites)
    weights = Weights(checkpoint, threads=len(os.sched_getaffinity(0)))
    weights.regenerate(directions[0], 1.0)  # compiles, and touches the memory
    built: list[SweepSums] = []
    passed = seconds(lambda: built.append(weights.build(directions, scratch)))
    with built[0] as sums:
        applied = seconds(lambda: weights.stage_all(sums))
        staged = {name: out.copy() for name, out in weights.outs.items()}
        drawn = sums.noise_values
    samples = (directions[0], directions[DIRECTIONS // 2], directions[-1])
    regenerated = sum(seconds(partial(weights.regenerate, d, SCALES[-1])) for d in samples) * POINTS / 3
    assert all(np.array_equal(staged[name], out) for name, out in weights.outs.items())
    return {
        "weights, M": weights.size() / 1e6,
        "one pass over the noise, s": passed,
        f"{POINTS} points from its sums, s": applied,
        f"{POINTS} points regenerated, s": regenerated,
        "ratio": regenerated / (passed + applied),
        "noise values drawn / (elites · weights)": drawn / (elites * weights.size()),
        "scratch file, GB": bytes_needed(checkpoint, LAW, DIRECTIONS) / 1e9,
    }


def sweep_directions(elites: int) -> list[Direction]:
    rows = np.random.default_rng(0).random((DIRECTIONS, elites)) * 1e-3
    return [Direction(tuple(Component(k, float(a)) for k, a in enumerate(row)), LAW) for row in rows]


class Weights:
    """Base and live weights in memory, as an engine holds them."""

    def __init__(self, checkpoint: Checkpoint, threads: int) -> None:
        self.checkpoint, self.threads = checkpoint, threads
        self.bases = {name: checkpoint.read(name) for name in select(checkpoint.tensors, LAW.scope)}
        self.outs = {name: np.empty_like(base) for name, base in self.bases.items()}

    def size(self) -> int:
        return sum(base.size for base in self.bases.values())

    def build(self, directions: list[Direction], scratch: Path) -> SweepSums:
        return SweepSums.build(self.checkpoint, directions, scratch, threads=self.threads)

    def regenerate(self, direction: Direction, step: float) -> None:
        for name, out in self.outs.items():
            info = self.checkpoint.tensors[name]
            perturb(
                out, self.bases[name], LAW, name, info.shape, direction.components, step,
                storage=info.dtype, threads=self.threads,
            )  # fmt: skip

    def stage_all(self, sums: SweepSums) -> None:
        for d in range(DIRECTIONS):
            for step in SCALES:
                self.stage(sums, d, step)

    def stage(self, sums: SweepSums, d: int, step: float) -> None:
        for name, out in self.outs.items():
            storage = self.checkpoint.tensors[name].dtype
            sums.realise(d, step, name, out, self.bases[name], storage=storage, threads=self.threads)
