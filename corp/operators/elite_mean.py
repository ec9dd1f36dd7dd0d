"""The uniform mean of the elites: a soup of perturbations (after Wortsman et al., ICML 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corp.operators.cloud import Cloud, Indices
from corp.operators.mean import Elites, Mean, distinct, stretched
from corp.operators.proposal import Proposal
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings


@dataclass(frozen=True, slots=True)
class EliteMean:
    """Reads q, scales, min_elites."""

    name: str = "elite_mean"
    summary: str = "mean of the elites with equal weights"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        chosen = Elites.of(scores, settings)
        means = distinct(({"q": q}, uniform(scores, members)) for q, members in chosen.sets)
        return stretched(self.name, scores, means, chosen, settings)


def uniform(scores: PopulationScores, members: Indices) -> Mean:
    """Of those members, with equal weights."""
    cloud = Cloud(np.full(len(members), 1 / len(members)), scores.coefficients[members])
    return Mean(cloud.mean, cloud)
