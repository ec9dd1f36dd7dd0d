"""The best single perturbation: RandOpt with K = 1 (arXiv 2603.12228), the row to beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corp.operators.proposal import Proposal, components, unit
from corp.operators.weights import Numbers, checked
from population.direction import Component
from population.proposal import Candidate


@dataclass(frozen=True, slots=True)
class BestSingle:
    """The candidate with the highest reward, the first of equals; its sigma is the norm."""

    name: str
    summary: str

    def propose(
        self, rewards: Numbers, candidates: Sequence[Candidate], q: Sequence[float], beta: Sequence[float]
    ) -> list[Proposal]:
        members = components(rewards, candidates)
        values, sigmas = checked(rewards, [member.amplitude for member in members])
        best = int(np.argmax(values))
        direction = unit([Component(members[best].seed, 1.0)], candidates[best])
        why = {"candidate": candidates[best].key, "reward": float(values[best])}
        return [Proposal(self.name, direction, float(sigmas[best]), why)]
