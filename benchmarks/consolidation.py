"""All operators on one scored population: shared noise and shared scores against evaluating each on its own.

The population is the demo's (48 candidates, three sigmas) with planted scores; five layers of the real model
take part, since every cost is proportional to the number of weights. "Together": one scratch file holds the
sums of all directions, and a direction that two operators propose is tried once. "Each operator": a pass of
its own per operator. "Each point": its noise regenerated, as the released code does; measured on three points
per operator and multiplied. Time for weights only: the evaluations on select are the same for all ways.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.noise import seconds
from benchmarks.sweep import LAW, Weights
from corp.linesearch import Point, line
from corp.operators import OPERATORS, OperatorSettings, PopulationScores, Proposal
from population.checkpoint import Checkpoint
from population.direction import Direction
from population.proposal import isotropic
from population.sums import TensorSum

SETTINGS = OperatorSettings(q=(0.5, 0.7), beta=(5, 20))


def main(model: Path) -> dict[str, float]:
    """Print and return seconds and noise passes of the three ways."""
    checkpoint = Checkpoint.open(model)
    weights = Weights(checkpoint, threads=2)
    by_operator = proposals(planted())
    together = [proposal for found in by_operator.values() for proposal in found]
    points = line(together)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        scratch = Path(folder) / "sums"
        shared, passes = staged(weights, points, together, scratch)
        apart, more = 0.0, 0.0
        for found in by_operator.values():
            spent, drawn = staged(weights, line(found), found, scratch)
            apart, more = apart + spent, more + drawn
    regenerated = sum(regenerate(weights, line(found)) for found in by_operator.values())
    row = {
        "operators": len(by_operator),
        "points proposed": sum(len(line(found)) for found in by_operator.values()),
        "points evaluated": len(points),
        "together, s": shared,
        "each operator, s": apart,
        "each point, s": regenerated,
        "each point / together": regenerated / shared,
        "noise of the population drawn, together": passes,
        "noise of the population drawn, each operator": more,
    }
    for name, value in row.items():
        print(f"{name:<48}{value:14.2f}")
    return row


def planted() -> PopulationScores:
    """Binary outcomes whose chance differs between members, so that every operator finds something."""
    rng = np.random.default_rng(0)
    population = isotropic(48, (0.004, 0.006, 0.01), 0, LAW)
    skill = rng.normal(0, 0.1, (48, 1)) + rng.normal(0, 0.25, (1, 96)) + 0.4
    values = (rng.random((48, 96)) < skill).astype(np.float64)
    base = (rng.random(96) < 0.4).astype(np.float64)
    return PopulationScores(
        tuple(candidate.key for candidate in population),
        tuple(candidate.direction for candidate in population if candidate.direction),
        np.array([candidate.sigma for candidate in population]),
        values,
        base,
        values > 0,
        base > 0,
    )


def proposals(scores: PopulationScores) -> dict[str, list[Proposal]]:
    """Of every operator but those that choose by evaluating."""
    return {
        name: entry.propose(scores, SETTINGS)
        for name, entry in OPERATORS.items()
        if not hasattr(entry, "search")
    }


def staged(
    weights: Weights, points: list[Point], found: list[Proposal], scratch: Path
) -> tuple[float, float]:
    """Seconds to give the model every point's weights from shared sums, and how often each seed was drawn."""
    directions = list(dict.fromkeys(proposal.direction for proposal in found))
    drawn: list[int] = []

    def work() -> None:
        with weights.build(directions, scratch) as sums:
            drawn.append(sums.noise_values)
            for point in points:
                assert point.candidate.direction is not None
                d = directions.index(found[point.proposal].direction)
                weights.stage(sums, d, point.candidate.direction.step)

    spent = seconds(work)
    return spent, drawn[-1] / (48 * weights.size())


def regenerate(weights: Weights, points: list[Point]) -> float:
    """Seconds to make every point's weights from its seeds."""
    samples = [points[index] for index in sorted({0, len(points) // 2, len(points) - 1})]
    directions = [point.candidate.direction for point in samples if point.candidate.direction]
    return sum(seconds(partial(realise, weights, d)) for d in directions) * len(points) / len(samples)


def realise(weights: Weights, direction: Direction) -> None:
    for name, out in weights.outs.items():
        info = weights.checkpoint.tensors[name]
        total = TensorSum(direction, name, info.shape, threads=weights.threads)
        total.realise(out, weights.bases[name], storage=info.dtype)
