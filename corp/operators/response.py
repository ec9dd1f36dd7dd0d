"""Compatibility in response space: members are weighted by the prompts that they add to the union of fixes.

Isotropic noise has no geometry in weight space; what members do to single prompts has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corp.operators.cloud import Cloud
from corp.operators.mean import Elites, at_radii, grid
from corp.operators.proposal import Proposal
from corp.operators.reliability import softmax_with_floor
from corp.operators.scores import Indices, PopulationScores, Vector
from corp.operators.settings import OperatorSettings

ITERATIONS = 50
RATE = 0.5  # of the exponentiated gradient: half way to the fixed point, which does not overshoot


@dataclass(frozen=True, slots=True)
class Response:
    """Reads q, beta, radii, min_ess, min_elites, regress_weight."""

    name: str = "response"
    summary: str = "elites weighted by what they add to the union of fixes, less the regressions they bring"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        chosen = Elites.of(scores, settings)
        means = grid(chosen, settings, lambda elite, beta: weigh(scores, elite, beta, settings))
        return at_radii(self.name, scores, means, chosen, settings)


def weigh(scores: PopulationScores, elite: Indices, beta: float, settings: OperatorSettings) -> Cloud:
    """argmax over the simplex of beta · rho · F(w) - KL(w | prior), by exponentiated gradient.

    F(w) = mean over prompts of (1 - exp(-c Σ w_i fix_ij)) / c - regress_weight · Σ w_i regression_ij: a fix
    that a c-th of the weight brings already counts little more. prior = softmax(beta · shrunken reward);
    c = `min_ess`; rho is the reliability of the scores.
    """
    fixes = scores.fixes[elite].astype(np.float32)
    cost = settings.regress_weight * scores.regressions[elite].mean(axis=1)
    prior = beta * scores.shrunken[elite]
    logits = prior
    for _ in range(ITERATIONS):
        weights = softmax_with_floor(logits, settings.min_ess)
        gain = _marginal(fixes, weights, settings.min_ess) - cost
        logits = (1 - RATE) * logits + RATE * (prior + beta * scores.reliability * gain)
    return Cloud(softmax_with_floor(logits, settings.min_ess), scores.coefficients[elite])


def _marginal(fixes: np.ndarray, weights: Vector, redundancy: float) -> Vector:
    """What a little more of each member adds to the coverage, shape (K,)."""
    uncovered = np.exp(-redundancy * (weights.astype(np.float32) @ fixes))
    added: Vector = (fixes @ uncovered).astype(np.float64) / fixes.shape[1]
    return added
