"""The best single perturbation: RandOpt with K = 1 (arXiv 2603.12228), the row to beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corp.operators.proposal import Proposal, unit
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings


@dataclass(frozen=True, slots=True)
class Top1:
    """Reads nothing. The highest reward, the first of equals, as it was scored: its only scale is 1."""

    name: str = "top1"
    summary: str = "the best single candidate, as it was scored"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        best = int(np.argmax(scores.rewards))
        member = scores.coefficients[[best]].toarray().ravel()
        why = {"candidate": scores.keys[best], "reward": float(scores.rewards[best])}
        return [Proposal(self.name, unit(member, scores), float(np.linalg.norm(member)), (1.0,), why)]
