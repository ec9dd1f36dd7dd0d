"""Compatibility in response space: members are weighted by the prompts that they add to the union of fixes.

Isotropic noise has no geometry in weight space; what members do to single prompts has.
"""

from __future__ import annotations

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

ITERATIONS = 60  # of exponentiated gradient; the rate of its steps halves the error in a few


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
        chosen = Elites.of(scores, settings, merit)
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
    prior = beta * scores.shrunken[elite]
    pull = beta * scores.reliability
    logits, rate, best = _normal(prior), 1.0, -np.inf
    trial = logits
    for _ in range(ITERATIONS):
        covered = settings.min_ess * (np.exp(trial) @ fixes)
        value = _objective(trial, covered, prior - pull * cost, pull / settings.min_ess)
        if value >= best:
            logits, best, rate = trial, value, min(1.0, 2 * rate)
            target = prior + pull * (fixes @ np.exp(-covered) / fixes.shape[1] - cost)
        else:
            rate /= 4
        trial = _normal((1 - rate) * logits + rate * target)
    return softmax_with_floor(logits, settings.min_ess)


def _objective(logits: Vector, covered: Vector, linear: Vector, pull: float) -> float:
    """Of normalised logits: coverage, the linear part and the entropy."""
    return pull * float(-np.expm1(-covered).mean()) + float(np.exp(logits) @ (linear - logits))


def _normal(logits: Vector) -> Vector:
    """log softmax."""
    shifted = logits - logits.max()
    normal: Vector = shifted - np.log(np.exp(shifted).sum())
    return normal
