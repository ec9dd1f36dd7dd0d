"""The level of each look."""

from __future__ import annotations

import math

import pytest

from corp.errors import GateInvalid
from corp.gate.spending import level


@pytest.mark.parametrize("rounds", [1, 2, 3, 20])
def test_rounds_leave_the_final_decision_a_share_and_spend_alpha_together(rounds: int) -> None:
    shares = [level(0.05, number, rounds) for number in range(1, rounds + 1)]
    rest = 0.05 - math.fsum(shares)
    assert rest == pytest.approx(shares[0])
    assert math.fsum([*shares, rest]) <= 0.05 * (1 + 1e-12)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_up_to_three_rounds_stay_within_alpha_though_later_candidates_depend_on_earlier_answers(
    rounds: int,
) -> None:
    """The worst case: each history of accepts and rejections leads to a final candidate that is no better."""
    final = 0.05 - rounds * level(0.05, 1, rounds)
    assert 2**rounds * final / 2 <= 0.05 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("alpha", "number", "rounds"), [(0.05, 0, 3), (0.05, 4, 3), (0.0, 1, 1), (1.0, 1, 1)]
)
def test_a_look_that_was_not_planned_has_no_level(alpha: float, number: int, rounds: int) -> None:
    with pytest.raises(GateInvalid):
        level(alpha, number, rounds)
