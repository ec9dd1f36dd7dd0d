"""What each member's noise does to the reward, as far as the scores can tell."""

from __future__ import annotations

import math

import numpy as np

from corp.operators.reliability import significance
from corp.operators.scores import PopulationScores, Vector

# A level whose rewards do not differ by more than chance explains at this probability adds noise, no signal.
LEVEL = 0.05
# A member that collapsed to no right answer lies ten standard deviations off and would outweigh the rest.
CLIP = 3.0


def slopes(scores: PopulationScores) -> Vector:
    """Expected slope of the reward along each member's unit noise, shape (N,), in units of the gradient.

    Near the centre r_i = r_0 + sigma · ⟨gradient, z_i⟩ + error. Of the rewards' variance within a sigma, the
    reliability rho is due to the slope, so its expectation given r_i (Kelley 1927) is sqrt(rho) times r_i's
    z-score within that sigma, whatever the sigma. Zero for a level without signal.
    """
    found = np.zeros(len(scores.keys))
    for sigma, members in scores.levels.items():
        weight = level_weight(scores, sigma)
        if weight:
            rewards = scores.rewards[members]
            z = (rewards - rewards.mean()) / rewards.std()
            found[members] = weight * np.clip(z, -CLIP, CLIP)
    return found


def level_weight(scores: PopulationScores, sigma: float) -> float:
    """sqrt(reliability) of a sigma's rewards; 0 where chance alone explains that they differ."""
    if significance(scores.values[scores.levels[sigma]]) > LEVEL:
        return 0.0
    return math.sqrt(scores.level_reliability[sigma])


def along_units(scores: PopulationScores, weights: Vector) -> Vector:
    """Σ weights_i a_i / sigma_i along the population's seeds, shape (S,)."""
    amplitudes: Vector = np.asarray(scores.coefficients.T @ (weights / scores.sigmas), np.float64)
    return amplitudes
