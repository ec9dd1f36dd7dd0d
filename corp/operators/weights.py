"""How CoRP weighs the elites of a scored population.

Source: "Consolidating Rewarded Perturbations for LLM Post-Training" (arXiv 2605.31494), stage 1.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corp.errors import OperatorInvalid
from corp.operators.cloud import Cloud, Indices, Vector
from corp.operators.reliability import softmax_with_floor

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
        first: the elites weighed by softmax(beta * reward).
        second: the same sharpened by alignment with the first mean and dispersion around it.
    """

    elite: Indices
    first: Cloud
    second: Cloud

    @property
    def pass1(self) -> Vector:
        """Weights of the first pass, sum 1, shape (K,)."""
        return self.first.weights

    @property
    def pass2(self) -> Vector:
        """Weights of the second pass, sum 1, shape (K,)."""
        return self.second.weights

    @property
    def direction(self) -> Vector:
        """Length of each elite's part in the unit vector along the second mean, shape (K,)."""
        return self.second.weights * np.sqrt(self.second.lengths) / self.second.norm

    @property
    def norm(self) -> float:
        """Length of the second mean; a step of scale s has length s * norm."""
        return self.second.norm


def corp_weights(
    rewards: Numbers, sigmas: Numbers, *, q: float, beta: float, axes: Sequence[Hashable] | None = None
) -> CorpWeights:
    """`stage1` of members that are single seeds.

    Args:
        rewards: mean reward of each member, shape (N,).
        sigmas: amplitude of each member, > 0, shape (N,).
        q: quantile in [0, 1).
        beta: inverse temperature, > 0.
        axes: a label per member, normally its seed; members with one label share an axis. Default: all
            differ.

    Raises:
        OperatorInvalid: lengths differ, fewer than two members, sigma <= 0, a reward that is not a
            number, q or beta out of range.
    """
    r, sigma = checked(rewards, sigmas)
    if axes is not None and len(axes) != len(r):
        raise OperatorInvalid(f"{len(axes)} axes for {len(r)} members")
    points = single_seeds(sigma, range(len(r)) if axes is None else axes)
    return stage1(r, points, q=q, beta=beta)


def single_seeds(amplitudes: Vector, axes: Sequence[Hashable]) -> csr_array:
    """The points of members along one labelled axis each, axes in the order of the labels, shape (N, S)."""
    from scipy.sparse import csr_array

    axis = _numbered(axes)
    shape = (len(axis), int(axis.max()) + 1)
    return csr_array((amplitudes, axis, np.arange(len(axis) + 1)), shape=shape)


def stage1(rewards: Vector, points: csr_array, *, q: float, beta: float) -> CorpWeights:
    """Stage 1 of CoRP for one quantile and one inverse temperature.

    Elites are the members with reward >= the q-quantile (linear interpolation, ties included). Pass 1
    weighs them by softmax(beta r). Pass 2 adds each elite's z-scored alignment with the pass 1 mean and
    subtracts its z-scored dispersion around it (population standard deviation; zeros where that vanishes).

    Args:
        rewards: shape (N,), finite.
        points: the members' amplitudes along S seeds, shape (N, S).
        q: quantile in [0, 1).
        beta: inverse temperature, > 0.

    Raises:
        OperatorInvalid: q or beta out of range.
    """
    if not 0 < beta < math.inf:
        raise OperatorInvalid(f"beta = {beta} must be > 0 and finite")
    elite = elites(rewards, q)
    return CorpWeights(elite, *two_passes(beta * rewards[elite], points[elite]))


def two_passes(logits: Vector, points: csr_array, min_ess: float = 1.0) -> tuple[Cloud, Cloud]:
    """The elites weighed by softmax of `logits`, then sharpened by alignment and dispersion.

    Args:
        logits: beta times the elites' rewards, shape (K,).
        points: their amplitudes along S seeds, shape (K, S).
        min_ess: floor of either pass's effective sample size; 1, the paper's, is none.
    """
    first = Cloud(softmax_with_floor(logits, min_ess), points)
    alignment = z_scores(first.alignment, 1.0)
    dispersion = z_scores(first.dispersion, float(first.lengths.max()))
    return first, Cloud(softmax_with_floor(logits + alignment - dispersion, min_ess), points)


def elites(rewards: Vector, q: float) -> Indices:
    """Indices of the members with reward >= the q-quantile, ties included, ascending.

    Raises:
        OperatorInvalid: q is not in [0, 1).
    """
    if not 0 <= q < 1:
        raise OperatorInvalid(f"q = {q} is not a quantile in [0, 1)")
    found: Indices = np.flatnonzero(rewards >= np.quantile(rewards, q))
    return found


def checked(rewards: Numbers, sigmas: Numbers) -> tuple[Vector, Vector]:
    """Both as float64 of shape (N,).

    Raises:
        OperatorInvalid: they are not a population that can be consolidated.
    """
    r, sigma = np.asarray(rewards, np.float64), np.asarray(sigmas, np.float64)
    if r.ndim != 1 or r.shape != sigma.shape:
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
    return r, sigma


def _numbered(labels: Sequence[Hashable]) -> Indices:
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], np.intp)


def z_scores(x: Vector, magnitude: float) -> Vector:
    """x less its mean, over its standard deviation; zeros where that vanishes.

    `magnitude`: the size of the numbers that `x` was computed from, which sets its rounding error.
    """
    deviation = x.std()
    if deviation <= _ROUNDING * magnitude:
        return np.zeros_like(x)
    scores: Vector = (x - x.mean()) / deviation
    return scores
