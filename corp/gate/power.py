"""What a gate split of a given size can show: power of the exact test, and the gain it is likely to find."""

from __future__ import annotations

from corp.errors import GateInvalid

DISCORDANCE = 0.2
"""Share of gate prompts answered differently for which the detectable gain is stated; 0.28 in the demo."""

PLAUSIBLE = 0.15
"""A larger gain than 15 points is rare: the papers' average over 25 model-task pairs is 8.1."""


def acceptance(n: int, discordance: float, gain: float, *, level: float = 0.05) -> float:
    """Probability that a candidate with this true gain is accepted.

    Exact: the number of discordant pairs is binomial, and given that so is the number of fixes.

    Args:
        n: prompts.
        discordance: true share of prompts on which base and candidate differ, in (0, 1].
        gain: true difference of their success rates, at most the discordance.
        level: what the two-sided p-value is held against. With several proposals `alpha` over their number,
            the first of Holm's levels: the power is then that of the best of them, others not counted.

    Raises:
        GateInvalid: an argument out of range.
    """
    if n < 1 or not 0 < discordance <= 1 or not -discordance <= gain <= discordance or not 0 < level < 1:
        raise GateInvalid(f"no such test: n = {n}, discordance {discordance}, gain {gain}, level {level}")
    import numpy as np
    from scipy.stats import binom

    # All but 2e-12 of the number of discordant pairs: a gate of a million prompts need not be summed whole.
    low, high = binom.ppf([1e-12, 1 - 1e-12], n, discordance)
    pairs = np.arange(low, high + 1)
    # Fewest fixes that are significant: P(X >= k) <= level / 2 under 1/2. isf(t) is the smallest k with P(X
    # > k) <= t.
    enough = binom.isf(level / 2, pairs, 0.5) + 1
    share = (discordance + gain) / (2 * discordance)
    return float(binom.pmf(pairs, n, discordance) @ binom.sf(enough - 1, pairs, share))


def detectable_gain(n: int, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Smallest gain that the exact test accepts with probability `power`, or None where no gain is enough.

    Args:
        n: prompts.
        discordance: share of prompts on which base and candidate differ, in (0, 1]; it bounds the gain.
        alpha: what the two-sided p-value is held against.
    """

    def reached(gain: float) -> bool:
        return acceptance(n, discordance, gain, level=alpha) >= power

    if not reached(discordance):
        return None
    low, high = 0.0, discordance
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def warning(n: int, level: float, headroom: float = 1.0) -> str | None:
    """Why the gate is likely to abstain even on a real gain, or None.

    Args:
        n: prompts of the gate split.
        level: what the first p-value is held against.
        headroom: what is left to gain, one minus the base's success rate; 1 while that is not known.
    """
    gain = detectable_gain(n, DISCORDANCE, alpha=level)
    if gain is None:
        found = f"cannot show a gain below {100 * DISCORDANCE:.0f} points"
    elif gain > headroom:
        found = f"show a gain from {100 * gain:.1f} points on, of which only {100 * headroom:.1f} are left"
    elif gain > PLAUSIBLE:
        found = f"show a gain from {100 * gain:.1f} points on, more than most searches bring"
    else:
        return None
    return f"{n} gate prompts at level {level:.2g} {found}: the job may abstain on a real gain; use more"
