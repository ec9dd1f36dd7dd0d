"""CoRP's stage 1: the reward-weighted mean, sharpened by alignment and dispersion (arXiv 2605.31494)."""

from __future__ import annotations

from dataclasses import dataclass

from corp.operators.mean import means
from corp.operators.proposal import Proposal
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from corp.operators.weights import stage1


@dataclass(frozen=True, slots=True)
class Corp:
    """Reads q, beta, scales."""

    name: str = "corp"
    summary: str = "reward-weighted mean of the elites, sharpened by alignment and dispersion"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        return means(
            self.name,
            scores,
            settings,
            lambda q, beta: stage1(scores.rewards, scores.coefficients, q=q, beta=beta).second,
        )
