"""The CoRP operator: how the elites of a scored population are weighed into one direction.

Source: "Consolidating Rewarded Perturbations for LLM Post-Training" (arXiv 2605.31494), stage 1.
    Everything happens in amplitude coordinates: member i of the population is a_i = sigma_i e_i, one
    orthogonal axis per seed, because independent Gaussian draws in a model's dimension are orthogonal for
    all that matters (cosine 3e-5 at 1e9 weights).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corp.errors import OperatorInvalid

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Numbers = Sequence[float] | npt.NDArray[np.floating]

# A spread below this share of what was computed with is rounding. Two elites of different sigma and equal
# weight have equal dispersion, but in float64 they differ in the last bit, which a z-score would blow up to
# +-1.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class CorpWeights:
    """Weights over the K elites, every array in ascending order of the population's index.

    Attributes:
        elite: indices into the population, shape (K,).
        pass1: softmax of beta * reward, sums to 1, shape (K,).
        pass2: the same sharpened by alignment and dispersion, sums to 1, shape (K,).
        alignment: cosine of each elite with the mean under `pass1`, shape (K,).
        dispersion: squared length of each elite's part orthogonal to that mean, shape (K,).
        mean: each elite's part of the weighted mean, pass2 * sigma, shape (K,).
        direction: `mean` / `norm`: the amplitudes of a unit vector, shape (K,).
        norm: length of the mean; a step of scale s has length s * norm.
        trace: tr C of the weighted cloud around the mean.
        axis: the axis of each elite, 0, 1, …, shape (K,).
    """

    elite: Indices
    pass1: Vector
    pass2: Vector
    alignment: Vector
    dispersion: Vector
    mean: Vector
    direction: Vector
    norm: float
    trace: float
    axis: Indices
    sigmas: Vector

    @property
    def ess(self) -> float:
        """Effective sample size of the weights, 1 / sum of squares: between 1 and K."""
        return float(1 / np.sum(self.pass2**2))

    @property
    def kappa(self) -> float:
        """||mean||² / tr C: how far the mean stands out of its cloud; infinite for a single elite."""
        return self.norm**2 / self.trace if self.trace > 0 else math.inf

    def effective_rank(self) -> float:
        """exp of the entropy of C's normalised eigenvalues; 0 for a single elite, which has no cloud.

        Costs an eigendecomposition of K x K: 0.1 s at K = 500.
        """
        if self.trace <= 0:
            return 0.0
        centre = np.bincount(self.axis, self.mean)
        cloud = np.diag(np.bincount(self.axis, self.pass2 * self.sigmas**2)) - np.outer(centre, centre)
        share = np.linalg.eigvalsh(cloud) / self.trace
        share = share[share > 0]
        return float(np.exp(-np.sum(share * np.log(share))))


def corp_weights(
    rewards: Numbers, sigmas: Numbers, *, q: float, beta: float, axes: Sequence[Hashable] | None = None
) -> CorpWeights:
    """Stage 1 of CoRP for one quantile and one inverse temperature.

    Elites are the members with reward >= the q-quantile (linear interpolation, ties included). Pass 1
    weighs them by softmax(beta r). Pass 2 adds each elite's z-scored alignment with the pass 1 mean and
    subtracts its z-scored dispersion around it (population standard deviation; zeros where that vanishes).

    Args:
        rewards: mean reward of each member, shape (N,).
        sigmas: amplitude of each member, > 0, shape (N,).
        q: quantile in [0, 1).
        beta: inverse temperature, > 0.
        axes: a label per member, normally its seed; members with one label share an axis. Default: all
            differ.

    Raises:
        OperatorInvalid: lengths differ, fewer than two members, sigma <= 0, a reward that is not a
            number, q or
            beta out of range.
    """
    r, sigma, axis = _checked(rewards, sigmas, q, beta, axes)
    elite = np.flatnonzero(r >= np.quantile(r, q))
    r, sigma = r[elite], sigma[elite]
    axis = np.unique(axis[elite], return_inverse=True)[1].reshape(-1)

    pass1 = _softmax(beta * r)
    mean1 = np.bincount(axis, pass1 * sigma)
    alignment = mean1[axis] / np.linalg.norm(mean1)
    dispersion = np.maximum(sigma**2 - (alignment * sigma) ** 2, 0)

    pass2 = _softmax(beta * r + _z_scores(alignment, 1.0) - _z_scores(dispersion, float(sigma.max()) ** 2))
    mean = pass2 * sigma
    norm = float(np.linalg.norm(np.bincount(axis, mean)))
    return CorpWeights(
        elite,
        pass1,
        pass2,
        alignment,
        dispersion,
        mean,
        direction=mean / norm,
        norm=norm,
        trace=max(float(pass2 @ sigma**2) - norm**2, 0.0),
        axis=axis,
        sigmas=sigma,
    )


def _checked(
    rewards: Numbers, sigmas: Numbers, q: float, beta: float, axes: Sequence[Hashable] | None
) -> tuple[Vector, Vector, Indices]:
    r, sigma = np.asarray(rewards, np.float64), np.asarray(sigmas, np.float64)
    if r.ndim != 1 or r.shape != sigma.shape or (axes is not None and len(axes) != len(r)):
        raise OperatorInvalid(
            f"one reward and one sigma per member are needed, not {r.shape} and {sigma.shape}"
        )
    if len(r) < 2:
        raise OperatorInvalid(f"a population of {len(r)} cannot be consolidated", hint="score two or more")
    if not np.isfinite(r).all():
        raise OperatorInvalid(
            f"the reward of member {int(np.argmin(np.isfinite(r)))} is not a finite number",
            hint="leave out candidates that have no valid verdict",
        )
    if not (np.isfinite(sigma) & (sigma > 0)).all():
        raise OperatorInvalid(
            f"sigma must be > 0; the smallest is {sigma.min()}", hint="leave out null candidates"
        )
    if not 0 <= q < 1:
        raise OperatorInvalid(f"q = {q} is not a quantile in [0, 1)")
    if not 0 < beta < math.inf:
        raise OperatorInvalid(f"beta = {beta} must be > 0 and finite")
    labels = range(len(r)) if axes is None else axes
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return r, sigma, np.array([numbers[label] for label in labels], np.intp)


def _softmax(x: Vector) -> Vector:
    weights: Vector = np.exp(x - x.max())
    weights /= weights.sum()
    return weights


def _z_scores(x: Vector, magnitude: float) -> Vector:
    """`magnitude`: the size of the numbers that `x` was computed from, which sets its rounding error."""
    deviation = x.std()
    if deviation <= _ROUNDING * magnitude:
        return np.zeros_like(x)
    scores: Vector = (x - x.mean()) / deviation
    return scores
