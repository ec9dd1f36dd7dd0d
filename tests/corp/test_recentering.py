"""The state machine of recentering against a plain model of it, and the paired bound."""

from __future__ import annotations

import json
import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from corp.recentering import Limits, State, gain, halves, shares
from population.direction import Component, Direction, Law
from population.local import Axes
from population.proposal import BASE, Candidate

LIMITS = Limits(rounds=6, acceptances=3, patience=2)


def centre(number: int) -> Candidate:
    return Candidate(f"r{number}", Direction((Component(number, 0.1),), Law(), 0.3), 0.03)


class Recentering(RuleBasedStateMachine):
    """Any sequence of acceptances and rejections, with a restart from JSON between any two."""

    def __init__(self) -> None:
        super().__init__()
        axes = Axes((1, 2), (0.3,), ((0.6, 0.8),))
        self.state = State(BASE, sigma=0.02, iota=0.5, length=0.01, axes=axes, since=1)
        self.history: list[bool] = []

    @precondition(lambda self: self.state.ended(LIMITS) is None)
    @rule(length=st.floats(1e-4, 1))
    def accept(self, length: float) -> None:
        self.state = self.state.accept(centre(len(self.history) + 1), length)
        self.history.append(True)
        assert self.state.length == length

    @precondition(lambda self: self.state.ended(LIMITS) is None)
    @rule()
    def reject(self) -> None:
        self.state = self.state.reject(0.5)
        self.history.append(False)

    @rule()
    def restart(self) -> None:
        self.state = State.from_json(json.loads(json.dumps(self.state.to_json())))

    @invariant()
    def counts_are_those_of_the_history(self) -> None:
        moves = [number for number, accepted in enumerate(self.history, 1) if accepted]
        assert self.state.round == len(self.history)
        assert self.state.accepted == len(moves)
        trailing = len(self.history) - (moves[-1] if moves else 0)
        assert self.state.rejected == trailing
        assert self.state.since == (moves[-1] + 1 if moves else 1)
        assert self.state.centre == (centre(moves[-1]) if moves else BASE)

    @invariant()
    def sigma_is_halved_once_per_rejection(self) -> None:
        assert self.state.sigma == 0.02 * 0.5 ** self.history.count(False)

    @invariant()
    def it_ends_exactly_at_a_limit(self) -> None:
        over = len(self.history) == 6 or self.history.count(True) == 3 or self.history[-2:] == [False, False]
        assert (self.state.ended(LIMITS) is not None) == over


TestRecentering = Recentering.TestCase
TestRecentering.settings = settings(max_examples=40, stateful_step_count=16, deadline=None)


def test_without_a_limit_on_acceptances_only_rounds_and_patience_end_it() -> None:
    state = State(BASE, 0.02, 0.5, 0.01)
    for number in range(1, 9):
        assert state.ended(Limits(8, None, 2)) is None
        state = state.accept(centre(number), 0.01)
    assert state.ended(Limits(8, None, 2)) == "every round was used"


def test_rounds_before_a_centre_was_found_pool_from_the_search_on() -> None:
    state = State(BASE, 0.02, 0.5, 0.0, rejected=1)
    assert state.since == 0
    assert state.reject().since == 0
    assert state.reject().sigma == 0.02
    assert state.reject().ended(Limits(5, None, 2)) is not None


@given(st.integers(1, 10_000), st.integers(1, 64))
def test_a_budget_is_split_whole_and_evenly(size: int, rounds: int) -> None:
    parts = shares(size, rounds)
    assert sum(parts) == size
    assert len(parts) == rounds
    assert max(parts) - min(parts) <= 1
    assert list(parts) == sorted(parts, reverse=True)


@given(st.integers(0, 500), st.integers(0, 2**40))
def test_halves_are_a_partition_that_depends_on_the_seed(n: int, seed: int) -> None:
    first, second = halves(n, seed)
    assert sorted([*first, *second]) == list(range(n))
    assert len(second) - len(first) in (0, 1)
    assert all(np.diff(half).min(initial=1) > 0 for half in (first, second))
    again = halves(n, seed)
    assert np.array_equal(first, again[0])
    if n > 60:
        assert not np.array_equal(first, halves(n, seed + 1)[0])


def test_halves_are_pinned() -> None:
    """A resumed run depends on these values for ever."""
    assert halves(12, 3)[0].tolist() == [1, 4, 5, 6, 9, 10]


def test_halves_are_not_ordered_by_index() -> None:
    means = [float(np.mean(halves(400, seed)[0])) for seed in range(200)]
    spread = 400 / math.sqrt(12) / math.sqrt(400)  # of the mean of half of a finite population
    assert statistics.mean(means) == pytest.approx(199.5, abs=5 * spread / math.sqrt(200))
    assert statistics.stdev(means) == pytest.approx(spread, rel=0.3)


PAIRS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0, math.nan]), st.sampled_from([0.0, 0.5, 1.0, math.nan])),
    min_size=1,
    max_size=60,
)


@given(PAIRS, st.sampled_from([0.0, 1.0, 2.5]))
def test_gain_is_the_mean_paired_difference_with_its_standard_error(
    pairs: list[tuple[float, float]], z: float
) -> None:
    before, after = np.array(pairs).T
    found = gain(before, after, z)
    differences = [b - a for a, b in pairs if not math.isnan(a + b)]
    assert found.n == len(differences)
    if found.n < 2:
        assert found.lower == -math.inf
        return
    error = statistics.stdev(differences) / math.sqrt(found.n)
    assert found.mean == pytest.approx(statistics.mean(differences), abs=1e-15)
    assert found.error == pytest.approx(error, abs=1e-15)
    assert found.lower == pytest.approx(found.mean - z * error, abs=1e-14)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["n"] == found.n
