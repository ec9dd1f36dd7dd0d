"""The evolution-strategies estimate: every member counts, good ones for and bad ones against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corp.errors import NoSignal
from corp.operators.proposal import Proposal, unit
from corp.operators.scores import PopulationScores, Vector
from corp.operators.settings import OperatorSettings
from corp.operators.slopes import along_units, level_weight, slopes

# The opposite of a bad member was never scored, and moving that far costs something in either direction. On
# seven pocket models a half keeps 97 % of full weight's slope along the accuracy's gradient and costs no gain
# at the best step; leaving the bad out costs 0.4 points there, give or take 0.3.
AGAINST = 0.5


@dataclass(frozen=True, slots=True)
class Es:
    """Reads radii.

    The step of Salimans et al. (arXiv 1703.03864) and Wierstra et al. (JMLR 2014), with the sigmas of one
    population combined as their reliabilities say: Σ slope_i · a_i / sigma_i is the expected gradient.
    Members of negative slope count half.
    """

    name: str = "es"
    summary: str = (
        "signed mean of the whole population: the expected gradient, levels weighted by reliability"
    )

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        expected = slopes(scores)
        require_slope(scores, expected)
        weights = np.where(expected > 0, expected, AGAINST * expected)
        direction = unit(along_units(scores, weights), scores)
        return [Proposal(self.name, direction, scores.radius, settings.radii, {"levels": levels(scores)})]


def require_slope(scores: PopulationScores, expected: Vector) -> None:
    """Raise NoSignal where no level's rewards differ by more than chance."""
    if not np.any(expected):
        raise NoSignal(
            f"at no sigma do the rewards on {scores.values.shape[1]} prompts differ by more than chance",
            hint="use more prompts in support, more candidates per sigma, or larger sigmas",
        )


def levels(scores: PopulationScores) -> list[dict[str, float]]:
    """What each sigma contributes, JSON-like."""
    return [
        {
            "sigma": sigma,
            "members": len(members),
            "reliability": scores.level_reliability[sigma],
            "weight": level_weight(scores, sigma),
        }
        for sigma, members in scores.levels.items()
    ]
