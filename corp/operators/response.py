"""Compatibility in response space: members are weighted by the prompts that they add to the union of fixes.

Isotropic noise has no geometry in weight space; what members do to single prompts has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from corp.operators.cloud import Cloud
from corp.operators.es import require_slope
from corp.operators.mean import Elites, Mean, at_radii, distinct
from corp.operators.proposal import Proposal
from corp.operators.reliability import softmax_with_floor
from corp.operators.scores import Indices, PopulationScores, Vector
from corp.operators.settings import OperatorSettings
from corp.operators.slopes import along_units, slopes

CONVERGED = 1e-10  # mean change of the weights' logarithms
ITERATIONS = 200  # ten are usual, fifty the most seen


@dataclass(frozen=True, slots=True)
class Response:
    """Reads q, beta, radii, min_ess, min_elites, regress_weight.

    Elites are the members of steepest expected slope, so that sigmas compare, and enter as unit noise.
    """

    name: str = "response"
    summary: str = "elites weighted by what they add to the union of fixes, less the regressions they bring"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        merit = slopes(scores)
        require_slope(scores, merit)
        chosen = Elites.of(scores, settings, np.where(merit == 0, merit.min(), merit))
        means = distinct(
            ({"q": q, "beta": beta}, _mean(scores, elite, response_weights(scores, elite, beta, settings)))
            for q, elite in chosen.sets
            for beta in settings.beta
        )
        return at_radii(self.name, scores, means, chosen, settings)


def _mean(scores: PopulationScores, elite: Indices, weights: Vector) -> Mean:
    whole = np.zeros(len(scores.keys))
    whole[elite] = weights
    return Mean(along_units(scores, whole), Cloud(weights, scores.coefficients[elite]))


def response_weights(
    scores: PopulationScores, elite: Indices, beta: float, settings: OperatorSettings
) -> Vector:
    """argmax over the simplex of beta · rho · F(w) - KL(w | prior), floored at `min_ess`, shape (K,).

    F(w) = mean over prompts of (1 - exp(-c Σ w_i fix_ij)) / c - regress_weight · Σ w_i regression_ij: a fix
    that a c-th of the weight brings already counts little more. prior = softmax(beta · shrunken reward),
    c = `min_ess`, rho is the reliability of the scores. Concave, so that the answer is unique.
    """
    fixes = scores.fixes[elite].astype(np.float64)
    cost = settings.regress_weight * scores.regressions[elite].mean(axis=1)
    prior, pull = beta * scores.shrunken[elite], beta * scores.reliability

    def improved(logits: Vector) -> Vector:
        """What the logits would be were the coverage what they make it; the optimum is a fixed point."""
        uncovered = np.exp(-settings.min_ess * (np.exp(logits) @ fixes))
        return _normal(prior + pull * (fixes @ uncovered / fixes.shape[1] - cost))

    return softmax_with_floor(_fixed_point(improved, _normal(prior)), settings.min_ess)


def _fixed_point(improved: Callable[[Vector], Vector], logits: Vector) -> Vector:
    """Exponentiated gradient; its rate halves where a step turns back on the last one."""
    rate, last = 1.0, np.zeros_like(logits)
    for _ in range(ITERATIONS):
        weights, step = np.exp(logits), improved(logits) - logits
        if weights @ np.abs(step) < CONVERGED:
            break
        rate = rate / 2 if weights @ (step * last) < 0 else min(1.0, 1.2 * rate)
        logits, last = _normal(logits + rate * step), step
    return logits


def _normal(logits: Vector) -> Vector:
    """log softmax."""
    shifted = logits - logits.max()
    normal: Vector = shifted - np.log(np.exp(shifted).sum())
    return normal
