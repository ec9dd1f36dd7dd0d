"""Several candidates at one family-wise level: Holm's step-down test over proposals registered beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corp.errors import GateInvalid

MOST = 5
"""More proposals than this would be a search on the gate split, and each costs the others power."""


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one hypothesis.

    Attributes:
        rejected: "no gain" was rejected: the candidate is better.
        left: hypotheses that were not yet rejected when its turn came; its p-value was held against alpha /
            left. Those behind the first that was not rejected keep that one's number.
    """

    rejected: bool
    left: int


def check_count(proposals: int) -> None:
    """Raise GateInvalid for no proposal or more than five."""
    if not 1 <= proposals <= MOST:
        raise GateInvalid(
            f"{proposals} proposals at the gate; it takes one to {MOST}",
            hint="choose among more on the select split",
        )


def step_down(p_values: Sequence[float], alpha: float) -> list[Step]:
    """One step per p-value, in the order given; of equal p-values the first goes first.

    The smallest p-value is held against alpha / k, the next against alpha / (k - 1) and so on until one is
    too large. The chance of rejecting any true hypothesis is at most alpha, however they depend on one
    another.

    Source: Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6 (1979) 65.

    Raises:
        GateInvalid: no p-value, more than five, one outside [0, 1], or a level outside (0, 1).
    """
    check_count(len(p_values))
    if not all(0 <= p <= 1 for p in p_values) or not 0 < alpha < 1:
        raise GateInvalid(f"p-values {list(p_values)} at level {alpha} are no family of tests")
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    steps: dict[int, Step] = {}
    left, going = len(p_values), True
    for index in order:
        going = going and p_values[index] <= alpha / left
        steps[index] = Step(going, left)
        left -= going
    return [steps[index] for index in range(len(p_values))]
