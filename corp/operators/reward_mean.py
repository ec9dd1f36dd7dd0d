"""The reward-weighted mean of the elites: CoRP stopped after its first pass."""

from __future__ import annotations

from dataclasses import dataclass

from corp.operators.cloud import Cloud
from corp.operators.mean import Elites, grid, stretched
from corp.operators.proposal import Proposal
from corp.operators.reliability import softmax_with_floor
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings


@dataclass(frozen=True, slots=True)
class RewardMean:
    """Reads q, beta, scales, min_ess, min_elites. Rewards are shrunken by their reliability."""

    name: str = "reward_mean"
    summary: str = "reward-weighted mean of the elites"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        chosen = Elites.of(scores, settings)
        means = grid(
            chosen,
            settings,
            lambda elite, beta: Cloud(
                softmax_with_floor(beta * scores.shrunken[elite], settings.min_ess),
                scores.coefficients[elite],
            ),
        )
        return stretched(self.name, scores, means, chosen, settings)
