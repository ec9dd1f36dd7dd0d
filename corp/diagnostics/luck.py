"""What the best of many looks like when none of them is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corp.operators.scores import PopulationScores, Vector

GRID = 4001
"""Points of the integral behind an expected maximum: it is exact to 1e-4 standard deviations."""

BINS = 24
"""Bars of the histogram at most."""


@dataclass(frozen=True, slots=True)
class Null:
    """Rewards of candidates that are all equally good, level by level.

    Attributes:
        counts: candidates per level, shape (L,).
        means: their mean reward, shape (L,).
        spreads: standard deviation that luck alone gives their rewards, shape (L,).
    """

    counts: npt.NDArray[np.int64]
    means: Vector
    spreads: Vector

    def expected_best(self) -> float:
        """Mean of the largest reward: ∫ x dF(x) of F = Π_l Φ((x - mean_l) / spread_l)^count_l."""
        from scipy.special import log_ndtr

        spreads = np.maximum(self.spreads, 1e-300)
        low = float(np.max(self.means - 8 * self.spreads))
        high = float(np.max(self.means + 8 * self.spreads))
        if high == low:
            return high
        x = np.linspace(low, high, GRID)
        log_share = log_ndtr((x[:, None] - self.means) / spreads) @ self.counts
        return high - float(np.trapezoid(np.exp(log_share), x))

    def expected_counts(self, edges: Vector) -> Vector:
        """How many candidates are expected between neighbouring edges, shape (len(edges) - 1,).

        The first and the last bin also hold what lies beyond them.
        """
        from scipy.special import ndtr

        share = ndtr((edges[1:-1, None] - self.means) / np.maximum(self.spreads, 1e-300)) @ self.counts
        return np.diff(np.concatenate([[0.0], share, [float(self.counts.sum())]]))


def no_effect(scores: PopulationScores) -> Null:
    """The rewards that the population would have if all candidates of a sigma were equally good.

    Then each would get prompt j right with the same chance, estimated by the share of the level's members
    that do, and members would differ by luck alone: variance Σ_j s²_j / M², with s²_j the sample variance
    of the level's values on prompt j. This holds for graded rewards, too. Invalid verdicts are left out.
    """
    levels = list(scores.levels.values())
    return Null(
        np.array([len(members) for members in levels]),
        np.array([scores.rewards[members].mean() for members in levels]),
        np.array([_spread(scores.values[members]) for members in levels]),
    )


def _spread(values: Vector) -> float:
    """Standard deviation by luck of the mean over M prompts, of members with these (n, M) values."""
    valid = ~np.isnan(values)
    counts = valid.sum(axis=0)
    used = counts > 1
    if not used.any():
        return 0.0
    centred = np.where(valid, values, 0.0)
    means = centred.sum(axis=0) / np.maximum(counts, 1)
    squares = (np.where(valid, values - means, 0.0) ** 2).sum(axis=0)
    variances = squares[used] / (counts[used] - 1)
    prompts = float(valid.sum(axis=1).mean())
    return math.sqrt(float(variances.mean()) / prompts)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Rewards in bins, beside what luck alone would put there.

    Attributes:
        edges: shape (bins + 1,), ascending.
        counts: candidates per bin; the last bin holds its upper edge.
        expected: under no effect, shape (bins,).
    """

    edges: Sequence[float]
    counts: Sequence[int]
    expected: Sequence[float]


def histogram(rewards: Vector, null: Null) -> Histogram:
    """Bins of one width over the rewards; one bin where all are equal."""
    low, high = float(rewards.min()), float(rewards.max())
    if low == high:
        low, high = low - 0.005, high + 0.005
    edges = np.linspace(low, high, min(BINS, max(1, math.isqrt(len(rewards)) * 2)) + 1)
    counts, _ = np.histogram(rewards, edges)
    return Histogram(edges.tolist(), counts.tolist(), null.expected_counts(edges).tolist())


@dataclass(frozen=True, slots=True)
class SearchLuck:
    """The population's rewards against luck alone.

    Attributes:
        n: candidates.
        prompts: on support.
        base: the base's reward.
        best: the best candidate's.
        expected_best: mean of the best one's under no effect.
        spread: standard deviation of the rewards within their levels.
        luck_spread: the same under no effect.
        histogram: of all rewards.
    """

    n: int
    prompts: int
    base: float
    best: float
    expected_best: float
    spread: float
    luck_spread: float
    histogram: Histogram


def search_luck(scores: PopulationScores) -> SearchLuck:
    """How much of the search's best score is to be expected of candidates that are all the same."""
    null = no_effect(scores)
    inside = [scores.rewards[members] - scores.rewards[members].mean() for members in scores.levels.values()]
    freedom = max(len(scores.keys) - len(inside), 1)
    return SearchLuck(
        n=len(scores.keys),
        prompts=scores.values.shape[1],
        base=float(np.nanmean(scores.base)) if not np.isnan(scores.base).all() else math.nan,
        best=float(scores.rewards.max()),
        expected_best=null.expected_best(),
        spread=math.sqrt(sum(float(part @ part) for part in inside) / freedom),
        luck_spread=math.sqrt(float(null.counts @ null.spreads**2) / int(null.counts.sum())),
        histogram=histogram(scores.rewards, null),
    )


@dataclass(frozen=True, slots=True)
class SelectLuck:
    """The line search's best point against luck alone.

    Attributes:
        points: steps tried.
        prompts: on select.
        base: the base's reward.
        best: the best point's.
        expected_best: at most, under no effect: models as good as the base that answer as differently from
            it as the best point does. Points of one search answer alike, which makes their best smaller.
    """

    points: int
    prompts: int
    base: float
    best: float
    expected_best: float


def select_luck(points: int, base: Vector, best: Vector) -> SelectLuck | None:
    """The best of `points` on select; None where no prompt has a valid verdict for base and best.

    Args:
        base: values per prompt, NaN where invalid, shape (M,).
        best: the same of the best point.
    """
    difference = (best - base)[~np.isnan(best - base)]
    if not difference.size:
        return None
    before, after = float(np.nanmean(base)), float(np.nanmean(best))
    # Two equally good models differ by twice the variance of one of them.
    spread = float(np.sqrt(np.mean(difference**2) / 2))
    equal = Null(np.array([points]), np.array([before]), np.array([spread / math.sqrt(difference.size)]))
    return SelectLuck(points, int(difference.size), before, after, equal.expected_best())
