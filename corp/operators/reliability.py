"""How far scores can be trusted: split-half reliability, shrinkage by it, and a floor under softmax weights.

With binary verdicts on some hundred prompts, two members' rewards differ by a few points of luck. A softmax
with the papers' inverse temperatures of up to 50 takes such differences at their word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

_STEPS = 60  # halvings of the temperature's exponent: down to its last bit
_FLAT = 1e-10  # weights whose logits differ by this share are equal
_NOTHING = 1e-26  # share of a squared value that is rounding


def reliability(values: Vector) -> float:
    """Cronbach's alpha of the members' mean values, clipped to [0, 1].

    It is the mean, over all ways to split the prompts into halves, of the split-half reliability stepped up
    to full length (Cronbach, Psychometrika 1951; halves of unequal variance as by Flanagan): the share of the
    rewards' variance that fresh prompts of the same kind would show again. Computed from the two-way
    analysis of variance (Hoyt, Psychometrika 1941), which leaves room for invalid verdicts: each member's
    error is that of the prompts it has. 0 where nothing can be told: one member, one prompt, equal rewards.

    Args:
        values: reward per prompt, NaN where there is none, shape (N, M).
    """
    return _Analysis.of(values).alpha


def significance(values: Vector) -> float:
    """Probability that members who do not differ show such a reliability or a higher one.

    F test of the same analysis of variance (Feldt, Psychometrika 1965); 1 where nothing can be told.
    """
    from scipy.special import fdtrc

    found = _Analysis.of(values)
    if not found.alpha:
        return 1.0
    ratio = found.spread / found.error if found.error else np.inf
    return float(fdtrc(len(values) - 1, found.freedom, ratio))


@dataclass(frozen=True, slots=True)
class _Analysis:
    """Variance of the members' means, and the share of it that the prompts' scatter explains.

    Attributes:
        spread: variance of the means.
        error: expected variance of the means of members that do not differ.
        freedom: degrees of freedom of `error`, 0 where nothing can be told.
    """

    spread: float
    error: float
    freedom: int

    @property
    def alpha(self) -> float:
        return max(1 - self.error / self.spread, 0.0) if self.freedom else 0.0

    @classmethod
    def of(cls, values: Vector) -> _Analysis:
        valid = ~np.isnan(values)
        counts, judged = valid.sum(axis=1), valid.sum(axis=0)
        freedom = int(counts.sum()) - len(counts) - int(np.count_nonzero(judged)) + 1
        if len(counts) < 2 or np.count_nonzero(judged) < 2 or freedom < 1 or not counts.all():
            return cls(0.0, 0.0, 0)
        rest = np.where(valid, values, 0.0)
        rest -= np.where(valid, rest.sum(axis=0) / np.maximum(judged, 1), 0.0)
        means = rest.sum(axis=1) / counts
        spread = float(np.var(means, ddof=1))
        if spread <= _NOTHING * float(np.nanmax(np.abs(values))) ** 2:
            return cls(0.0, 0.0, 0)
        rest -= np.where(valid, means[:, None], 0.0)
        return cls(spread, float(np.vdot(rest, rest)) / freedom * float(np.mean(1 / counts)), freedom)


def shrunken(rewards: Vector, reliability: float) -> Vector:
    """The best linear guess at the members' true rewards: r_bar + reliability · (r - r_bar) (Kelley 1927).

    Args:
        rewards: shape (N,).
        reliability: in [0, 1]; 0 makes all members equal.
    """
    pulled: Vector = (1 - reliability) * rewards.mean() + reliability * rewards
    return pulled


def softmax_with_floor(logits: Vector, min_ess: float) -> Vector:
    """softmax(logits / T) with the smallest T >= 1 that leaves an effective sample size of `min_ess`.

    Args:
        logits: shape (K,), finite.
        min_ess: the floor; of K or more it makes all weights equal.

    Returns:
        Weights, sum 1, shape (K,).
    """
    shifted = logits - logits.max()
    if min_ess >= len(shifted) * (1 - _FLAT):
        return np.full(len(shifted), 1 / len(shifted))
    if effective_size(_weights(shifted)) >= min_ess:
        return _weights(shifted)
    # Here some logit differs. At the low end every exponent is within 1e-10 of zero, so the weights are flat.
    low, high = np.log2(_FLAT / -float(shifted.min())), 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = effective_size(_weights(shifted * np.exp2(middle))) >= min_ess
        low, high = (middle, high) if enough else (low, middle)
    return _weights(shifted * np.exp2(low))


def effective_size(weights: Vector) -> float:
    """1 / Σ w² of weights that sum to 1."""
    return float(1 / np.vdot(weights, weights))


def _weights(shifted: Vector) -> Vector:
    weights: Vector = np.exp(shifted)
    weights /= weights.sum()
    return weights
