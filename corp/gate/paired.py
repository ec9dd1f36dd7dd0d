"""Statistics of paired 0/1 outcomes: an exact test and two intervals.

Of n prompts, x were wrong before and right after (fixes), y the other way round (regressions). The gain is
(x - y) / n; the n - x - y prompts on which both agree say nothing about its sign.
"""

from __future__ import annotations

import math
from statistics import NormalDist


def mcnemar(fixes: int, regressions: int) -> float:
    """Two-sided p-value of the exact McNemar test; 1 where no pair is discordant.

    Given the number of discordant pairs, fixes are binomial with probability 1/2 when nothing has changed
    (McNemar 1947). Computed in integers and rounded once.
    """
    n = fixes + regressions
    term = tail = 1
    for k in range(1, min(fixes, regressions) + 1):
        term = term * (n - k + 1) // k
        tail += term
    return min(1.0, 2 * tail / (1 << n))


def tango(fixes: int, regressions: int, n: int, level: float) -> tuple[float, float]:
    """Score interval for the difference of two paired proportions, confidence 1 - `level`.

    Source: Tango, "Equivalence test and confidence interval for the difference in proportions for the
        paired-sample design", Statistics in Medicine 17 (1998) 891-908. Unlike the usual mean +- 1.96
        standard errors it keeps its coverage for few discordant pairs, stays within [-1, 1] and has
        positive length without any.
    """
    z = NormalDist().inv_cdf(1 - level / 2)
    return -_upper(regressions, fixes, n, z), _upper(fixes, regressions, n, z)


def _upper(x: int, y: int, n: int, z: float) -> float:
    """The largest difference that a score test does not reject: the test statistic falls as it grows."""
    low, high = (x - y) / n, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if _score(x, y, n, middle) < -z else (middle, high)
    return high


def _score(x: int, y: int, n: int, difference: float) -> float:
    """Tango's statistic: the observed minus the assumed difference, over its standard error given the latter.

    The standard error needs P(regression), estimated by maximum likelihood under the assumed difference:
    the larger root of a quadratic (his equation 8).
    """
    a = 2 * n
    b = (2 * n - x + y) * difference - x - y
    c = -y * difference * (1 - difference)
    regression = (math.sqrt(max(b * b - 4 * a * c, 0)) - b) / (2 * a)
    variance = n * (2 * regression + difference * (1 - difference))
    distance = x - y - n * difference
    if variance <= 0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / math.sqrt(variance)


def conditional(fixes: int, regressions: int, n: int, level: float) -> tuple[float, float]:
    """Interval that leaves out 0 exactly where `mcnemar` gives p <= `level`.

    Source: Clopper and Pearson, Biometrika 26 (1934) 404-413, for the share of fixes among the
        discordant pairs, whose number is taken as given.
    """
    from scipy.stats import beta

    pairs = fixes + regressions
    if pairs == 0:
        return 0.0, 0.0
    low = beta.ppf(level / 2, fixes, regressions + 1) if fixes else 0.0
    high = beta.ppf(1 - level / 2, fixes + 1, regressions) if regressions else 1.0
    return (2 * float(low) - 1) * pairs / n, (2 * float(high) - 1) * pairs / n
