"""The held-out decision: is the candidate better than the base on prompts that nothing was chosen on?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from corp.errors import GateInvalid
from corp.gate.paired import conditional, mcnemar, tango

Outcomes = Sequence[bool] | Sequence[float] | npt.NDArray[np.bool_] | npt.NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the gate found.

    Attributes:
        accepted: the candidate is better, at a false-accept rate of at most alpha over all looks.
        gain: share of prompts right with the candidate minus with the base.
        interval: of the gain, at confidence 1 - level; leaves out 0 exactly where p_value <= level.
        p_value: two-sided exact McNemar test, not corrected for looks.
        level: alpha / looks, what the p-value was held against.
        fixes: prompts wrong with the base and right with the candidate.
        regressions: prompts right with the base and wrong with the candidate.
        n: prompts.
        base: share right with the base.
        candidate: share right with the candidate.
        reason: one sentence for people.
    """

    accepted: bool
    gain: float
    interval: tuple[float, float]
    p_value: float
    level: float
    fixes: int
    regressions: int
    n: int
    base: float
    candidate: float
    reason: str


def decide(base: Outcomes, candidate: Outcomes, *, looks: int = 1, alpha: float = 0.05) -> Decision:
    """Accept the candidate, or abstain.

    Accepted if the gain is positive and the exact McNemar test gives p <= alpha / looks (Bonferroni). Under
    "no difference" the chance of accepting anything in `looks` looks is then at most alpha, in fact at most
    alpha / 2, since only one side of the two-sided test accepts.

    Args:
        base: right (1) or wrong (0) per prompt, shape (n,).
        candidate: the same prompts in the same order.
        looks: how many candidates are or will be held against these prompts in all.
        alpha: false-accept level, in (0, 1).

    Raises:
        GateInvalid: lengths differ, no prompts, a value other than 0 or 1, looks < 1, alpha out of range.
    """
    before, after = _outcomes(base, "base"), _outcomes(candidate, "candidate")
    _check(len(before), len(after), looks, alpha)
    n, level = len(before), alpha / looks
    fixes, regressions = int(np.sum(~before & after)), int(np.sum(before & ~after))
    p_value = mcnemar(fixes, regressions)
    decision = Decision(
        accepted=fixes > regressions and p_value <= level,
        gain=(fixes - regressions) / n,
        interval=_interval(fixes, regressions, n, level, p_value <= level),
        p_value=p_value,
        level=level,
        fixes=fixes,
        regressions=regressions,
        n=n,
        base=float(before.mean()),
        candidate=float(after.mean()),
        reason="",
    )
    return replace(decision, reason=_reason(decision))


def _check(base: int, candidate: int, looks: object, alpha: float) -> None:
    if base != candidate:
        raise GateInvalid(
            f"base has {base} prompts, the candidate {candidate}", hint="score both on the same"
        )
    if not isinstance(looks, int | np.integer) or looks < 1:
        raise GateInvalid(f"looks = {looks} is not a count of at least 1")
    if not 0 < alpha < 1:
        raise GateInvalid(f"alpha = {alpha} is not a level in (0, 1)")


def _outcomes(values: Outcomes, name: str) -> npt.NDArray[np.bool_]:
    try:
        array = np.asarray(values)
    except ValueError:  # rows of unequal length
        raise GateInvalid(f"{name} must be one outcome per prompt, not nested lists") from None
    if array.ndim != 1 or array.size == 0:
        raise GateInvalid(f"{name} must be one outcome per prompt, not an array of shape {array.shape}")
    if array.dtype.kind not in "biuf" or not ((array == 0) | (array == 1)).all():
        raise GateInvalid(
            f"{name} has values other than 0 and 1",
            hint="compare values with the task's pass threshold first",
        )
    return array.astype(bool)


def _interval(fixes: int, regressions: int, n: int, level: float, rejected: bool) -> tuple[float, float]:
    """Tango's score interval, made to agree with the exact test about 0.

    The test is mostly the stricter of the two: where it does not reject and Tango's bound has just passed
    0, the bound is moved back to 0. Far out in the tails it is the other way round (at level 5e-5, 16 fixes
    of 30 prompts without a regression): there the interval that inverts the exact test gives the bound next
    to 0.
    """
    low, high = tango(fixes, regressions, n, level)
    if not rejected:
        return min(low, 0.0), max(high, 0.0)
    if low <= 0 <= high:
        exact = conditional(fixes, regressions, n, level)
        return (exact[0], high) if fixes > regressions else (low, exact[1])
    return low, high


def _reason(decision: Decision) -> str:
    """The decision with its numbers, for people."""
    base, candidate = (round(share * decision.n) for share in (decision.base, decision.candidate))
    gain, low, high = (100 * value for value in (decision.gain, *decision.interval))
    sign = "<=" if decision.p_value <= decision.level else ">"
    numbers = (
        f"{candidate} of {decision.n} right against {base} for the base, {gain:+.1f} points"
        f" ({100 * (1 - decision.level):.4g} % interval {low:+.1f} to {high:+.1f});"
        f" {_count(decision.fixes, 'fix', 'es')}, {_count(decision.regressions, 'regression', 's')},"
        f" exact McNemar p = {decision.p_value:.2g} {sign} {decision.level:.2g}"
    )
    if decision.accepted:
        return f"Accepted: {numbers}."
    if decision.fixes + decision.regressions == 0:
        return f"Abstained, the candidate gets the same prompts right: {numbers}."
    if decision.fixes <= decision.regressions:
        return f"Abstained, the candidate is not better: {numbers}."
    return f"Abstained, the gain may be luck: {numbers}."


def _count(number: int, noun: str, plural: str) -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"
