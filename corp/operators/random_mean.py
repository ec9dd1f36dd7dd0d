"""The null control: members drawn without a look at their rewards, as many as there are elites."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from corp.operators.elite_mean import uniform
from corp.operators.mean import Elites, at_radii, distinct
from corp.operators.proposal import Proposal
from corp.operators.scores import Indices, PopulationScores
from corp.operators.settings import OperatorSettings


@dataclass(frozen=True, slots=True)
class RandomMean:
    """Reads q, radii, min_elites, seed.

    What it gains is what moving anywhere by that length and choosing the step on select gains.
    """

    name: str = "random_mean"
    summary: str = "null control: mean of random members"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        chosen = Elites.of(scores, settings)
        order = shuffled(scores, settings.seed)
        means = distinct(
            ({"q": q}, uniform(scores, np.sort(order[: len(members)]))) for q, members in chosen.sets
        )
        return at_radii(self.name, scores, means, chosen, settings)


def shuffled(scores: PopulationScores, seed: int) -> Indices:
    """The members in the order of a hash of seed and key, which does not depend on theirs."""

    def rank(index: int) -> bytes:
        return hashlib.blake2b(f"random_mean\0{seed}\0{scores.keys[index]}".encode()).digest()

    return np.array(sorted(range(len(scores.keys)), key=rank), np.intp)
