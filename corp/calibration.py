"""The σ at which a perturbation moves a model by a stated displacement: a search along one curve.

The curve, median displacement of a few fixed seeds against σ, is nearly a power law of exponent 2 (KL is
quadratic where noise is small), so the search is a secant in log-log that starts with that slope, kept
inside the bracket it has found. The measurements come in as a function; nothing here knows a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corp.errors import CalibrationFailed

TOLERANCE = 0.1
"""Of log KL, 5 % of σ: five probe seeds leave the median about 20 % uncertain anyway."""

MOST = 12
"""Values of σ measured at most; 2 to 4 are usual."""

STRIDE = 8.0
"""Largest factor between two values of σ while nothing brackets the target."""

SLOPES = (0.5, 8.0)
"""Exponents a secant is believed to have; noise and saturation give others."""


@dataclass(frozen=True, slots=True)
class Point:
    """Median displacement (KL, nats per token; infinite where the model breaks) measured at ``sigma``."""

    sigma: float
    kl: float


def search(
    measure: Callable[[float], float], target: float, start: float, bounds: tuple[float, float]
) -> Point:
    """The first point whose KL is within ``TOLERANCE`` of the target.

    A pure function of what ``measure`` returns: with equal answers it asks for the same σ again, so a
    search whose measurements are kept can be repeated up to where it was.

    Args:
        measure: median KL at a σ; 0 where rounding swallows the noise.
        target: KL > 0.
        start: first σ.
        bounds: smallest and largest σ that make sense.

    Raises:
        CalibrationFailed: no σ within the bounds reaches the target, or the curve jumps over it.
    """
    points: list[Point] = []
    sigma = round_sigma(min(max(start, bounds[0]), bounds[1]))
    while len(points) < MOST and all(sigma != known.sigma for known in points):
        points.append(Point(sigma, measure(sigma)))
        if _close(points[-1].kl, target):
            return points[-1]
        low, high = _bracket(points, target)
        sigma = round_sigma(min(max(_next(points, low, high, target), bounds[0]), bounds[1]))
    raise _failure(points, target)


def round_sigma(sigma: float) -> float:
    """To four significant digits: what is printed is what is used."""
    return float(f"{sigma:.4g}")


def levels(sigma: float, factors: Sequence[float]) -> tuple[float, ...]:
    """The σ of the population's levels: ``sigma`` times each factor."""
    return tuple(round_sigma(sigma * factor) for factor in factors)


def outliers(kls: Sequence[float], sigmas: Sequence[float], factor: float) -> list[int]:
    """Indices of the candidates that moved the model further than ``factor`` times their level's median KL.

    Never more than half of a level, unless its numbers are not finite: those always are outliers.
    """
    medians = {
        sigma: median([kl for kl, s in zip(kls, sigmas, strict=True) if s == sigma]) for sigma in set(sigmas)
    }
    return [
        index
        for index, (kl, sigma) in enumerate(zip(kls, sigmas, strict=True))
        if not math.isfinite(kl) or kl > factor * medians[sigma]
    ]


def median(values: Sequence[float]) -> float:
    """The middle value, or the lower of the two: infinities do not spread into a mean."""
    return sorted(values)[(len(values) - 1) // 2]


def _bracket(points: Sequence[Point], target: float) -> tuple[Point | None, Point | None]:
    """The smallest σ above the target, and the largest below it that is smaller still."""
    high = min((p for p in points if p.kl > target), key=lambda p: p.sigma, default=None)
    below = [p for p in points if p.kl < target and (high is None or p.sigma < high.sigma)]
    return max(below, key=lambda p: p.sigma, default=None), high


def _next(points: Sequence[Point], low: Point | None, high: Point | None, target: float) -> float:
    if low and high:
        if not (low.kl > 0 and high.kl < math.inf) or len(points) > MOST // 2:
            return math.sqrt(low.sigma * high.sigma)
        secant = math.log(target / low.kl) / _slope(low, high)
        width = math.log(high.sigma / low.sigma)
        return low.sigma * math.exp(min(max(secant, 0.1 * width), 0.9 * width))
    last = points[-1]
    if last.kl == 0:
        return last.sigma * STRIDE
    if last.kl == math.inf:
        return last.sigma / STRIDE
    slope = _slope(*points[-2:]) if len(points) > 1 else 2.0
    far = math.log(STRIDE)
    return last.sigma * math.exp(min(max(math.log(target / last.kl) / slope, -far), far))


def _slope(a: Point, b: Point) -> float:
    """Exponent between two points, within what is believed; 2 where one of them has no logarithm."""
    if not (0 < a.kl < math.inf and 0 < b.kl < math.inf):
        return 2.0
    slope = math.log(b.kl / a.kl) / math.log(b.sigma / a.sigma)
    return min(max(slope, SLOPES[0]), SLOPES[1])


def _close(kl: float, target: float) -> bool:
    return 0 < kl < math.inf and abs(math.log(kl / target)) <= TOLERANCE


def _failure(points: Sequence[Point], target: float) -> CalibrationFailed:
    low, high = _bracket(points, target)
    if high is None:
        top = max(points, key=lambda point: (point.kl, point.sigma))
        return CalibrationFailed(
            f"no sigma up to {max(p.sigma for p in points):.4g} moves the model by {target:g} nats per token;"
            f" the most was {top.kl:.3g} at {top.sigma:.4g}",
            hint="lower calibrate.target, widen population.scope, or give population.sigmas as numbers",
        )
    if low is None:
        return CalibrationFailed(
            f"even sigma {high.sigma:.4g} moves the model by {high.kl:.3g} nats per token, beyond {target:g}",
            hint="raise calibrate.target, or give population.sigmas as numbers",
        )
    return CalibrationFailed(
        f"the displacement jumps over {target:g} nats per token: {low.kl:.3g} at sigma {low.sigma:.4g},"
        f" {high.kl:.3g} at {high.sigma:.4g}",
        hint="small noise is rounded away in bfloat16: try engine.storage=float32, another target or scope,"
        " or give population.sigmas as numbers",
    )
