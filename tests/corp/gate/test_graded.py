"""Graded rewards: samples clustered by prompt, and a decision that its interval agrees with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from corp.errors import GateInvalid
from corp.gate.graded import by_prompt, compare

grades = st.integers(-8, 8).map(lambda n: n / 8)


def test_several_samples_of_a_prompt_count_as_one_prompt() -> None:
    rng = np.random.default_rng(1)
    base = np.round(rng.random(60), 2)
    candidate = np.clip(base + 0.05 * rng.normal(size=60) + 0.012, 0, 1)
    once = compare(base, candidate)
    repeated = compare(np.repeat(base[:, None], 8, axis=1), np.repeat(candidate[:, None], 8, axis=1))
    assert repeated.p_value == once.p_value
    assert repeated.at(0.05).n == 60
    naive = compare(np.repeat(base, 8), np.repeat(candidate, 8))
    assert naive.p_value < once.p_value / 5  # what counting samples as prompts would claim


def test_samples_that_were_not_judged_are_left_out_of_their_prompts_mean() -> None:
    nan = float("nan")
    assert by_prompt([[1.0, nan, 0.0], [nan, 0.25, nan]]).tolist() == [0.5, 0.25]


@given(
    arrays(np.float64, st.integers(2, 40), elements=grades),
    st.sampled_from([0.0025, 0.01, 0.05, 0.3]),
)
def test_accepted_exactly_where_the_interval_is_above_zero(differences: np.ndarray, level: float) -> None:
    found = compare(np.zeros_like(differences), differences).at(level)
    low, high = found.interval
    assert found.accepted == (low > 0)
    assert -np.inf < low <= high < np.inf
    assert not (found.accepted and found.p_value > level)
    assert (found.fixes, found.regressions) == ((differences > 0).sum(), (differences < 0).sum())
    assert found.reason.startswith("Accepted" if found.accepted else "Abstained")


def test_same_scores_and_seed_give_the_same_decision() -> None:
    rng = np.random.default_rng(2)
    base, candidate = rng.random((2, 100))
    assert compare(base, candidate, seed=7).at(0.05) == compare(base, candidate, seed=7).at(0.05)


@pytest.mark.parametrize(
    ("base", "candidate"),
    [
        ([1.0], [1.0]),
        ([1.0, 0.0], [1.0]),
        ([float("nan"), 1.0], [1.0, 1.0]),
        ([[]], [[]]),
        ([1, 2], [1, np.inf]),
    ],
)
def test_scores_that_cannot_be_compared_are_refused(base: list[float], candidate: list[float]) -> None:
    with pytest.raises(GateInvalid):
        compare(base, candidate)
