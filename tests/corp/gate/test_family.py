"""Several proposals under one policy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corp.errors import GateInvalid
from corp.gate.decision import decide
from corp.gate.family import judge
from corp.gate.holm import step_down

seeds = st.integers(0, 10_000)


def answers(seed: int, n: int, proposals: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    base = (rng.random(n) < 0.4).astype(float)
    chances = rng.uniform(0.3, 0.9, proposals)
    changed = rng.random((proposals, n)) < 0.4
    return [
        (base, np.where(mask, rng.random(n) < chance, base))
        for mask, chance in zip(changed, chances, strict=True)
    ]


@given(seeds, st.integers(1, 5))
def test_accepted_are_those_that_gained_and_that_holm_rejects(seed: int, proposals: int) -> None:
    pairs = answers(seed, 60, proposals)
    alone = [decide(base, candidate) for base, candidate in pairs]
    steps = step_down([one.p_value if one.gain > 0 else 1.0 for one in alone], 0.05)
    found = judge(pairs)
    expected = [step.rejected and one.gain > 0 for step, one in zip(steps, alone, strict=True)]
    assert [one.accepted for one in found] == expected
    for one in found:
        assert one.accepted == (one.interval[0] > 0)


def test_a_candidate_that_is_surely_worse_lends_no_level_to_the_others() -> None:
    """Ten fixes of 12 changes have p = 0.039: enough for one proposal, not for one of two."""
    base = np.array([1.0] * 60 + [0.0] * 60)
    worse, better = base.copy(), base.copy()
    worse[:40], better[60:70], better[:2] = 0, 1, 0
    for metric in ("success", "value"):
        assert judge([(base, better)], metric=metric)[0].accepted
        assert not any(one.accepted for one in judge([(base, worse), (base, better)], metric=metric))


@given(seeds)
def test_one_proposal_is_judged_as_the_plain_decision(seed: int) -> None:
    ((base, candidate),) = answers(seed, 50, 1)
    assert judge([(base, candidate)], alpha=0.03) == [decide(base, candidate, alpha=0.03)]


@given(seeds)
def test_values_of_0_and_1_are_judged_as_outcomes_up_to_the_interval(seed: int) -> None:
    pairs = answers(seed, 20, 3)  # few enough that every sign pattern is counted
    for graded, exact in zip(judge(pairs, metric="value"), judge(pairs), strict=True):
        assert graded.p_value == pytest.approx(exact.p_value)
        assert graded.level == exact.level
        assert exact.accepted or not graded.accepted


@pytest.mark.parametrize("policy", ["strict", "paper"])
def test_outcomes_are_judged_by_either_policy(policy: str) -> None:
    base = np.zeros(50)
    better = base.copy()
    better[:30] = 1
    assert [one.accepted for one in judge([(base, better), (base, base)], policy=policy)] == [True, False]


def test_six_proposals_are_refused() -> None:
    with pytest.raises(GateInvalid, match="6 proposals"):
        judge(answers(0, 30, 6))
