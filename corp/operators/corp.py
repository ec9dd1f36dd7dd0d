"""CoRP's stage 1: the reward-weighted mean, sharpened by alignment and dispersion (arXiv 2605.31494)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corp.operators.cloud import Cloud, Indices
from corp.operators.mean import Elites, grid, stretched
from corp.operators.proposal import Proposal
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from corp.operators.weights import two_passes


@dataclass(frozen=True, slots=True)
class Corp:
    """Reads q, beta, scales, min_ess, min_elites.

    Unlike the paper, rewards are shrunken by their reliability and the weights' effective sample size has a
    floor; `corp_paper_code` does neither.
    """

    name: str = "corp"
    summary: str = "reward-weighted mean of the elites, sharpened by alignment and dispersion"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        chosen = Elites.of(scores, settings)
        means = grid(chosen, settings, sharpened(scores, settings))
        return stretched(self.name, scores, means, chosen, settings)


def sharpened(scores: PopulationScores, settings: OperatorSettings) -> Callable[[Indices, float], Cloud]:
    """Both passes over elites with shrunken rewards, for an inverse temperature."""

    def weigh(elite: Indices, beta: float) -> Cloud:
        logits = beta * scores.shrunken[elite]
        return two_passes(logits, scores.coefficients[elite], settings.min_ess)[1]

    return weigh
