"""Every operator on a scored population of 5,000 candidates by 500 prompts, without a model.

    python -m benchmarks.operators

`greedy` is counted with free evaluations: what remains is its own arithmetic. The default grid of settings is
used, 3 quantiles by 7 temperatures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.memory import high_water, reset_high_water, status
from corp.operators import OPERATORS, AdaptiveOperator, OperatorSettings, PopulationScores
from corp.operators.scores import Vector
from population.direction import Direction, Law
from population.proposal import isotropic

MEMBERS, PROMPTS = 5000, 500
SIGMAS = (0.0005, 0.001, 0.002)


def main(model: Path | None = None) -> dict[str, float]:
    """Print and return seconds per operator and in total, and the peak above the scores themselves."""
    del model
    scores = scored()
    before = status("VmRSS")
    reset_high_water()
    row = {"reliability, s": seconds(lambda: (scores.reliability, scores.level_reliability))}
    row |= {f"{name}, s": seconds(lambda name=name: run(name, scores)) for name in OPERATORS}
    row["all of them, s"] = sum(row.values())
    row["peak above the scores, MiB"] = high_water() - before
    for name, value in row.items():
        print(f"{name:<30}{value:10.2f}")
    return row


def scored(members: int = MEMBERS, prompts: int = PROMPTS) -> PopulationScores:
    """Binary verdicts of members whose ability varies by half a logit, the base among them."""
    rng = np.random.default_rng(0)
    candidates = isotropic(members, SIGMAS, 0, Law())
    logit = 0.5 * rng.normal(size=(members + 1, 1)) + rng.normal(size=(1, prompts))
    values = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(np.float64)
    return PopulationScores(
        tuple(candidate.key for candidate in candidates),
        tuple(candidate.direction for candidate in candidates if candidate.direction),
        np.array([candidate.sigma for candidate in candidates]),
        values[1:],
        values[0],
        values[1:] > 0,
        values[0] > 0,
    )


def run(name: str, scores: PopulationScores) -> int:
    """How many directions an operator proposes."""
    entry, settings = OPERATORS[name], OperatorSettings()
    if hasattr(entry, "search"):
        adaptive: AdaptiveOperator = entry
        return len(adaptive.search(scores, settings, by_luck))
    return len(entry.propose(scores, settings))


def by_luck(directions: Sequence[Direction]) -> Vector:
    """Rewards that depend on nothing but how many members take part."""
    return np.array([0.5 + 0.001 * (len(direction.components) % 7) for direction in directions])


def seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
