"""Forward selection on select: a member stays in the mean if the mean does better with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corp.operators.proposal import Evaluate, Proposal, unit
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from corp.operators.slopes import along_units, slopes
from population.direction import Direction


@dataclass(frozen=True, slots=True)
class Greedy:
    """Reads evaluations, radii, min_elites.

    The greedy soup of Wortsman et al. (ICML 2022) with members as unit noise, tried in the order of their
    expected slope, and every mean stretched to one length. Of means that grow, an average shrinks, and would
    be judged by that. The length is the one of `radii` that suits the first `min_elites` members best, found
    with a third of the evaluations.
    """

    name: str = "greedy"
    summary: str = "forward selection of members on select, each tried in the mean"

    def search(
        self, scores: PopulationScores, settings: OperatorSettings, evaluate: Evaluate
    ) -> list[Proposal]:
        scores.require_signal()
        order = [int(i) for i in np.lexsort((-scores.rewards, -slopes(scores)))]
        radii = settings.radii[: max(1, settings.evaluations // 3)]
        radius = _best_radius(scores, order[: settings.min_elites], radii, evaluate)
        trials = order[: settings.evaluations - len(radii)]
        kept, tried = _forward(scores, trials, radius * scores.radius, evaluate)
        why = {"members": [scores.keys[i] for i in kept], "radius": radius, "tried": tried}
        return [Proposal(self.name, _mean(scores, kept), scores.radius, settings.radii, why)]


def _best_radius(
    scores: PopulationScores, first: list[int], radii: tuple[float, ...], evaluate: Evaluate
) -> float:
    """The smallest of the best."""
    direction = _mean(scores, first)
    rewards = evaluate([direction * (radius * scores.radius) for radius in radii])
    return min(zip(-rewards, radii, strict=True))[1]


def _forward(
    scores: PopulationScores, order: list[int], length: float, evaluate: Evaluate
) -> tuple[list[int], list[dict[str, object]]]:
    """The members kept, and what every trial scored."""
    kept: list[int] = []
    best = -np.inf
    tried: list[dict[str, object]] = []
    for index in order:
        reward = float(evaluate([_mean(scores, [*kept, index]) * length])[0])
        tried.append({"candidate": scores.keys[index], "select": reward, "kept": reward > best})
        if reward > best:
            kept.append(index)
            best = reward
    return kept, tried


def _mean(scores: PopulationScores, members: list[int]) -> Direction:
    """The unit vector along the mean of their unit noises."""
    chosen = np.zeros(len(scores.keys))
    chosen[members] = 1.0
    return unit(along_units(scores, chosen), scores)
