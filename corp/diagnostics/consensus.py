"""Do two halves of the elites point the same way, more than their rewards' luck explains?

Source: split-half mean consensus and subspace overlap of "Consolidating Rewarded Perturbations for LLM
Post-Training" (arXiv 2605.31494). The reference measures them on noise that is the same in tensors of one
shape, whose sketches are low-rank by construction; here the noise of every weight is its own.

What makes the test valid. The elites are split by fair coins, so halves share no member: a member in both
would agree with itself. Under "rewards say nothing about where a perturbation points", permuting rewards
within a sigma and choosing elites anew gives the same distribution of every statistic, whatever structure the
population has, so the permutation test is exact. The lower bound is the smaller of two:

* the 5 % quantile over the splits (a half-sample bootstrap). Resampled splits of the same elites look like
  repetitions and are none, but their spread is the right one: with m the weighted mean of all elites and d
  the same mean with every member's sign set by its coin, the halves' inner product is (|m|² - |d|²) / 4. It
  is negative exactly where a random flip of signs makes the mean longer, so the share of negative splits is
  the p-value of a sign-flip test, and the quantile passes 0 in 5 % of populations of independent noise;
* the excess over the 95 % quantile of the permutations. Without it, members that all lean one way for reasons
  of their own, which breaks the symmetry of signs, would pass in a quarter of the cases (simulated).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corp.diagnostics.sketch import Sketch
from corp.operators.reliability import softmax_with_floor
from corp.operators.scores import PopulationScores, Vector

Indices = npt.NDArray[np.intp]
Coins = npt.NDArray[np.bool_]

LEAST = 8
"""Fewer elites make no two halves to speak of."""

MOST = 256
"""Elites compared at most, the best ones: the overlap takes eigenvectors of each half."""

SPLITS = 199
"""Splits behind the mean's statistics: the tenth smallest is the 5 % quantile."""

OVERLAPS = 59
"""Splits behind the observed overlap: the third smallest is the 5 % quantile."""

COMPARED = 8
"""Splits of these that the overlap of each permutation is averaged over."""

PERMUTATIONS = 39
"""Permutations of the rewards; the smallest p-value is 1 in 40."""

SHARPNESS = 1e6
"""Logits are rewards times this: the temperature is the one that leaves half of the elites effective."""


@dataclass(frozen=True, slots=True)
class Excess:
    """A statistic of split halves against the same under permuted rewards.

    Attributes:
        observed: mean over the splits.
        permuted: mean over permutations and splits.
        excess: observed - permuted.
        lower: 95 % one-sided lower bound of the excess; positive only if p_value <= 0.05.
        p_value: of the permutation test; the smallest possible is 1 / (permutations + 1).
    """

    observed: float
    permuted: float
    excess: float
    lower: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Consensus:
    """Both statistics and what they were computed from.

    Attributes:
        elites: members compared.
        coordinates: sampled weights.
        rank: dimensions of each half's subspace.
        splits: random halvings of the elites.
        permutations: of the rewards.
        detectable: cosine between the halves' means that this sketch could tell from none: 1.645 / sqrt(P).
        mean: cosine of the halves' reward-weighted means.
        subspace: mean squared principal cosine of the halves' leading subspaces; 1 means equal.
    """

    elites: int
    coordinates: int
    rank: int
    splits: int
    permutations: int
    detectable: float
    mean: Excess
    subspace: Excess


def consensus(scores: PopulationScores, points: Sketch, *, rank: int = 8, seed: int = 0) -> Consensus | None:
    """Both statistics of a scored population; None with fewer than eight elites.

    Elites are the better half of the population, at most 256, weighted by a softmax of their rewards whose
    temperature leaves half of them effective.

    Args:
        points: the members at sampled weights, `corp.diagnostics.sketch.sketch`, shape (N, P).
        rank: of the subspaces.
        seed: of coins and permutations.
    """
    if (len(scores.keys) + 1) // 2 < LEAST:
        return None
    rng = np.random.default_rng(seed)
    groups = _exchangeable(scores)
    found = _statistics(points, scores.rewards, rank, rng, OVERLAPS)
    others = [
        _statistics(points, permuted(scores.rewards, groups, rng), rank, rng, COMPARED)
        for _ in range(PERMUTATIONS)
    ]
    mean = _excess(found.cosines, found.cosines, [other.cosines for other in others])
    overlap = _excess(found.overlaps, found.overlaps[:COMPARED], [other.overlaps for other in others])
    return Consensus(
        elites=found.elites,
        coordinates=points.shape[1],
        rank=rank,
        splits=SPLITS,
        permutations=PERMUTATIONS,
        detectable=1.645 / math.sqrt(points.shape[1]),
        mean=mean,
        subspace=overlap,
    )


def permuted(rewards: Vector, groups: Sequence[Indices], rng: np.random.Generator) -> Vector:
    """Rewards dealt anew within each group: a sigma keeps its rewards, and with them its share of elites."""
    dealt = rewards.copy()
    for members in groups:
        dealt[members] = rewards[rng.permutation(members)]
    return dealt


def _exchangeable(scores: PopulationScores) -> list[Indices]:
    """The members of each sigma; all of them as one group where a sigma has one member only."""
    levels = list(scores.levels.values())
    return levels if min(map(len, levels)) > 1 else [np.arange(len(scores.keys))]


@dataclass(frozen=True, slots=True, eq=False)
class _Statistics:
    """Of one set of rewards: a cosine per split, and an overlap for the first of them."""

    elites: int
    cosines: Vector
    overlaps: Vector


def _statistics(
    points: Sketch, rewards: Vector, rank: int, rng: np.random.Generator, overlaps: int
) -> _Statistics:
    elite = best_half(rewards)
    weights = softmax_with_floor(SHARPNESS * rewards[elite], len(elite) / 2)
    chosen = points[elite]
    gram = (chosen @ chosen.T).astype(np.float64)
    coins = rng.random((SPLITS, len(elite))) < 0.5
    return _Statistics(
        len(elite),
        cosines(gram, weights, coins),
        np.array([overlap(gram, weights, coin, rank) for coin in coins[:overlaps]]),
    )


def best_half(rewards: Vector) -> Indices:
    """Indices of the better half of the members, at most 256, best first, of equals the first."""
    best: Indices = np.argsort(-rewards, kind="stable")[: min(MOST, (len(rewards) + 1) // 2)]
    return best


def cosines(gram: Vector, weights: Vector, coins: Coins) -> Vector:
    """Cosine of the two halves' weighted means for each row of coins; 0 where a half is empty.

    Args:
        gram: inner products of the K members, shape (K, K).
        weights: shape (K,).
        coins: which half, shape (splits, K).
    """
    first, second = weights * coins, weights * ~coins
    images = first @ gram
    lengths = np.einsum("ij,ij->i", images, first) * np.einsum("ij,ij->i", second @ gram, second)
    inner = np.einsum("ij,ij->i", images, second)
    found = np.zeros(len(coins))
    np.divide(inner, np.sqrt(lengths), out=found, where=lengths > 0)
    return found


def overlap(gram: Vector, weights: Vector, coin: npt.NDArray[np.bool_], rank: int) -> float:
    """Mean squared principal cosine of the leading subspaces of the two halves' weighted clouds."""
    halves = np.flatnonzero(coin), np.flatnonzero(~coin)
    size = min(rank, *(len(half) - 1 for half in halves))
    if size < 1:
        return 0.0
    parts = [weights[half] / weights[half].sum() for half in halves]
    left, right = (
        _leading(gram[np.ix_(half, half)], part, size) for half, part in zip(halves, parts, strict=True)
    )
    cross = _centred(gram[np.ix_(*halves)], *parts)
    return float(np.sum((left.T @ cross @ right) ** 2) / size)


def _leading(gram: Vector, weights: Vector, size: int) -> Vector:
    """Coefficients, over the centred members, of the cloud's leading unit vectors; shape (K, size)."""
    from scipy.linalg import eigh

    root = np.sqrt(weights)
    inner = root[:, None] * _centred(gram, weights, weights) * root
    values, vectors = eigh(inner, subset_by_index=[len(root) - size, len(root) - 1], check_finite=False)
    axes: Vector = root[:, None] * vectors / np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    return axes


def _centred(gram: Vector, left: Vector, right: Vector) -> Vector:
    """Inner products of two sets of members, each less its weighted mean."""
    rows, columns = gram @ right, left @ gram
    centred: Vector = gram - rows[:, None] - columns + left @ rows
    return centred


def _excess(observed: Vector, compared: Vector, others: Sequence[Vector]) -> Excess:
    """`compared`: as many splits as each permutation has, so that their means have one distribution."""
    means = np.array([other.mean() for other in others])
    permuted = float(means.mean())
    as_large = int(np.sum(means >= compared.mean()))
    split = float(np.sort(observed)[(len(observed) + 1) // 20 - 1]) - permuted
    test = float(compared.mean() - np.sort(means)[-((len(means) + 1) // 20)])
    return Excess(
        observed=float(observed.mean()),
        permuted=permuted,
        excess=float(observed.mean()) - permuted,
        lower=min(split, test),
        p_value=(1 + as_large) / (1 + len(means)),
    )
