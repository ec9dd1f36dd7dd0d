"""The reward-weighted mean of the elites: CoRP stopped after its first pass."""

from __future__ import annotations

from dataclasses import dataclass

from corp.operators.mean import means
from corp.operators.proposal import Proposal
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from corp.operators.weights import stage1


@dataclass(frozen=True, slots=True)
class RewardMean:
    """Reads q, beta, scales."""

    name: str = "reward_mean"
    summary: str = "reward-weighted mean of the elites"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        return means(
            self.name,
            scores,
            settings,
            lambda q, beta: stage1(scores.rewards, scores.coefficients, q=q, beta=beta).first,
        )
