"""Which candidates of a local population are worth following, and how far around them to look next.

Source: CoRP's stage 2 (arXiv 2605.31494).
"""

from __future__ import annotations

import numpy as np

from corp.operators.cloud import Cloud, Vector
from corp.operators.reliability import softmax_with_floor
from corp.operators.scores import Flags, PopulationScores
from population.local import Axes

FIRST_ESS, LAST_ESS = 16.0, 4.0
ROUNDING = 1e-12
"""Energies below this share of the members' mean squared length are what float64 leaves of zero."""
FINEST = 1e300
"""Largest inverse temperature tried; beyond it only candidates that tie for the best have weight."""


def constructive(fixes: Flags, regressions: Flags, judged: Flags, regress_weight: float) -> Vector:
    """(fixes − ρ · regressions) / n of each candidate against the centre, shape (N,).

    Args:
        fixes, regressions, judged: shape (N, M); n is the number of prompts judged for both.
        regress_weight: ρ.
    """
    net = fixes.sum(axis=1) - regress_weight * regressions.sum(axis=1)
    score: Vector = net / np.maximum(judged.sum(axis=1), 1)
    return score


def search_weights(score: Vector, target: float) -> Vector:
    """softmax(score / τ), shape (K,), where τ makes the effective sample size ``target``.

    All candidates are equal where there are fewer than that, and those that tie for the best where there
    are more of them.

    Args:
        score: > 0, shape (K,).
        target: at least 1.
    """
    return softmax_with_floor(FINEST * (score / score.max()), target)


def ess_target(number: int, rounds: int) -> float:
    """Effective sample size of round ``number`` of ``rounds``, from 16 down to 4, geometrically."""
    done = (number - 1) / (rounds - 1) if rounds > 1 else 0.0
    return float(FIRST_ESS * (LAST_ESS / FIRST_ESS) ** done)


def next_iota(iota: float, positive: float) -> float:
    """The next population's isotropic share: the fewer candidates help, the wider it looks around.

    Args:
        iota: present share.
        positive: share of candidates with a positive constructive score.
    """
    wanted = min(max(0.15 + 0.8 * (1 - positive), 0.15), 0.95)
    return min(max(iota / 2 + wanted / 2, 0.05), 0.95)


def follow(scores: PopulationScores, regress_weight: float, target: float) -> Cloud | None:
    """The candidates with a positive score, weighed by the search distribution; None where there is none."""
    score = constructive(scores.fixes, scores.regressions, scores.judged, regress_weight)
    helping = np.flatnonzero(score > 0)
    if not len(helping):
        return None
    return Cloud(search_weights(score[helping], target), scores.coefficients[helping])


def axes_of(cloud: Cloud, seeds: tuple[int, ...], rank: int) -> Axes | None:
    """The cloud's leading dimensions along those of its seeds that they use; None for a single member."""
    energies, vectors = cloud.principal(rank)
    real = energies > ROUNDING * float(cloud.weights @ cloud.lengths)
    energies, vectors = energies[real], vectors[real]
    if not len(energies):
        return None
    used = np.flatnonzero(vectors.any(axis=0))
    rows = vectors[:, used].tolist()
    return Axes(tuple(seeds[column] for column in used), tuple(energies.tolist()), tuple(map(tuple, rows)))
