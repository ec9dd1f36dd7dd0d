"""Holm's procedure against the closed test that it is a short cut of."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corp.errors import GateInvalid
from corp.gate.holm import step_down

levels = st.sampled_from([0.01, 0.05, 0.2])
p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.0125, 0.025, 0.05]), min_size=1, max_size=5)


def closed(p: list[float], alpha: float) -> list[bool]:
    """A hypothesis is rejected if every intersection it is part of is, each by Bonferroni."""
    n = len(p)
    families = [set(f) for size in range(1, n + 1) for f in combinations(range(n), size)]
    rejected = [f for f in families if min(p[i] for i in f) <= alpha / len(f)]
    return [all(f in rejected for f in families if i in f) for i in range(n)]


@given(p_values, levels)
def test_rejects_what_the_closed_bonferroni_test_rejects(p: list[float], alpha: float) -> None:
    assert [step.rejected for step in step_down(p, alpha)] == closed(p, alpha)


@given(p_values, levels)
def test_each_step_says_what_its_p_value_was_held_against(p: list[float], alpha: float) -> None:
    for value, step in zip(p, step_down(p, alpha), strict=True):
        assert step.rejected == (value <= alpha / step.left)


def test_levels_widen_as_hypotheses_are_rejected() -> None:
    steps = step_down([0.2, 0.001, 0.012, 0.03, 0.6], 0.05)
    assert [step.rejected for step in steps] == [False, True, True, False, False]
    assert [step.left for step in steps] == [3, 5, 4, 3, 3]


@pytest.mark.parametrize(("p", "alpha"), [([], 0.05), ([0.1] * 6, 0.05), ([1.5], 0.05), ([0.1], 0.0)])
def test_no_family_of_tests_is_refused(p: list[float], alpha: float) -> None:
    with pytest.raises(GateInvalid):
        step_down(p, alpha)


def test_not_a_number_is_refused() -> None:
    with pytest.raises(GateInvalid):
        step_down([float("nan")], 0.05)
