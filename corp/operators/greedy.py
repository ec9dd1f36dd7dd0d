"""Forward selection on select: a member stays in the mean if the mean does better with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corp.operators.proposal import Evaluate, Proposal, unit
from corp.operators.scores import Indices, PopulationScores
from corp.operators.settings import OperatorSettings
from population.direction import Direction


@dataclass(frozen=True, slots=True)
class Greedy:
    """Reads evaluations, radii.

    Members are tried in the order of their shrunken reward (the greedy soup of Wortsman et al., ICML 2022);
    every mean is stretched to the length of a typical member before it is scored.
    """

    name: str = "greedy"
    summary: str = "forward selection of members on select, each tried in the mean"

    def search(
        self, scores: PopulationScores, settings: OperatorSettings, evaluate: Evaluate
    ) -> list[Proposal]:
        scores.require_signal()
        order = np.argsort(-scores.shrunken, kind="stable")
        kept, trace = forward(scores, order[: settings.evaluations], evaluate)
        why = {"members": [scores.keys[i] for i in kept], "tried": trace}
        return [Proposal(self.name, _mean(scores, kept), scores.radius, settings.radii, why)]


def forward(
    scores: PopulationScores, order: Indices, evaluate: Evaluate
) -> tuple[list[int], list[dict[str, object]]]:
    """The members kept, and what every trial scored."""
    kept: list[int] = []
    best = -np.inf
    trace: list[dict[str, object]] = []
    for index in map(int, order):
        reward = float(evaluate([_mean(scores, [*kept, index]) * scores.radius])[0])
        trace.append({"candidate": scores.keys[index], "select": reward, "kept": reward > best})
        if reward > best:
            kept.append(index)
            best = reward
    return kept, trace


def _mean(scores: PopulationScores, members: list[int]) -> Direction:
    """The unit vector along their mean."""
    return unit(np.asarray(scores.coefficients[members].sum(axis=0), np.float64), scores)
