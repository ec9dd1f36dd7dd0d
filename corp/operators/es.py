"""The evolution-strategies estimate: every member counts, good ones for and bad ones against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corp.errors import NoSignal, OperatorInvalid
from corp.operators.proposal import Proposal, unit
from corp.operators.scores import PopulationScores, Vector
from corp.operators.settings import OperatorSettings

# Below three members a centred rank says no more than which of two was better.
MIN_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Es:
    """Reads radii.

    Within each sigma, rewards become centred ranks (Wierstra et al., JMLR 2014; Salimans et al. 2017); each
    level is weighted by its reliability, so that a level without signal adds no noise.
    """

    name: str = "es"
    summary: str = "signed mean of the whole population, ranks within each sigma, levels by reliability"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        if all(len(members) < MIN_LEVEL for members in scores.levels.values()):
            raise OperatorInvalid(
                f"no sigma has {MIN_LEVEL} candidates to compare", hint="use fewer sigmas, or more candidates"
            )
        weights = signed_weights(scores)
        if not weights.any():
            raise NoSignal(
                "the rewards of no sigma are reliable: split in halves, they do not agree with themselves",
                hint="use more prompts in support, or larger sigmas",
            )
        levels = [
            {"sigma": sigma, "members": len(members), "reliability": scores.level_reliability[sigma]}
            for sigma, members in scores.levels.items()
        ]
        amplitudes = np.asarray(scores.coefficients.T @ weights, np.float64)
        return [
            Proposal(self.name, unit(amplitudes, scores), scores.radius, settings.radii, {"levels": levels})
        ]


def signed_weights(scores: PopulationScores) -> Vector:
    """Weight of each member's perturbation, shape (N,)."""
    weights = np.zeros(len(scores.keys))
    for sigma, members in scores.levels.items():
        if len(members) >= MIN_LEVEL:
            weights[members] = scores.level_reliability[sigma] * centred_ranks(scores.rewards[members])
    return weights


def centred_ranks(rewards: Vector) -> Vector:
    """Ranks from -1/2 to 1/2, equal rewards with their mean rank, shape (n,)."""
    _, rank, counts = np.unique(rewards, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - (counts + 1) / 2
    ranks: Vector = middles[rank] / (len(rewards) - 1) - 0.5
    return ranks
