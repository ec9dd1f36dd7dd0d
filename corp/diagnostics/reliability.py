"""Whether the search's scores measure anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corp.operators.scores import PopulationScores


@dataclass(frozen=True, slots=True)
class Level:
    """One sigma: its candidates and the reliability of their rewards."""

    sigma: float
    n: int
    mean: float
    best: float
    reliability: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """Cronbach's alpha: the split-half reliability stepped up to full length (Spearman-Brown).

    Attributes:
        overall: of all rewards; what differs between sigmas counts as signal.
        within: the same, averaged over the sigmas, weighted by their candidates.
        levels: per sigma.
        prompts: per candidate.
    """

    overall: float
    within: float
    levels: Sequence[Level]
    prompts: int


def reliabilities(scores: PopulationScores) -> Reliability:
    """The share of the rewards' variance that fresh prompts of the same kind would show again."""
    levels = [
        Level(
            sigma,
            len(members),
            float(scores.rewards[members].mean()),
            float(scores.rewards[members].max()),
            scores.level_reliability[sigma],
        )
        for sigma, members in scores.levels.items()
    ]
    within = sum(level.n * level.reliability for level in levels) / len(scores.keys)
    return Reliability(scores.reliability, within, levels, scores.values.shape[1])
