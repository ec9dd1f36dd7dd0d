"""Forward selection against its own definition, on a select split that is an explicit function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from corp.operators import OPERATORS, OperatorSettings, PopulationScores
from population.direction import Direction
from tests.corp.operators.populations import (
    around_a_cloud,
    explicit,
    population,
    vector,
    verdicts,
    with_rewards,
)

OPERATOR = OPERATORS["greedy"]


class Select:
    """Answers with a function of the vector that the centre is moved by, and keeps what it was asked."""

    def __init__(self, scores: PopulationScores, reward: Callable[[np.ndarray], float]) -> None:
        self.scores, self.reward = scores, reward
        self.asked: list[np.ndarray] = []

    def __call__(self, directions: Sequence[Direction]) -> np.ndarray:
        vectors = [vector(direction, self.scores) for direction in directions]
        self.asked += vectors
        return np.array([self.reward(v) for v in vectors])


def test_it_finds_the_members_that_help_and_leaves_the_others():
    scores = population(with_rewards([0.5, 0.9, 0.8, 0.7, 0.6, 0.1]), (1e-3,))
    truth = np.array([1.0, 1.0, -1.0, 1.0, 0.0, 1.0])
    select = Select(scores, lambda v: v @ truth / np.linalg.norm(v))
    (proposal,) = OPERATOR.search(scores, OperatorSettings(evaluations=6), select)
    assert proposal.why["members"] == ["c00001", "c00003", "c00000", "c00005"]
    np.testing.assert_allclose(
        vector(proposal.direction, scores), np.array([1, 1, 0, 1, 0, 1]) / 2, atol=1e-12
    )
    assert [entry["kept"] for entry in proposal.why["tried"]] == [True, False, True, False, True, True]


def test_every_trial_has_the_length_of_a_typical_member_and_the_budget_is_kept():
    scores = population(verdicts(50, 60, 1))
    rng = np.random.default_rng(0)
    select = Select(scores, lambda v: rng.random())
    (proposal,) = OPERATOR.search(scores, OperatorSettings(evaluations=9), select)
    assert len(select.asked) == 9 == len(proposal.why["tried"])
    radius = np.sqrt(np.mean(scores.sigmas**2))
    np.testing.assert_allclose([np.linalg.norm(v) for v in select.asked], radius)
    assert proposal.norm == pytest.approx(radius)
    assert proposal.scales == OperatorSettings().radii
    assert max(entry["select"] for entry in proposal.why["tried"]) == pytest.approx(
        next(e["select"] for e in reversed(proposal.why["tried"]) if e["kept"])
    )


def test_members_are_tried_from_the_best_on_support_down():
    scores = population(verdicts(30, 60, 3))
    select = Select(scores, lambda v: 0.0)
    OPERATOR.search(scores, OperatorSettings(evaluations=30), select)
    firsts = [np.flatnonzero(v) for v in select.asked]
    assert firsts[0].tolist() == [int(np.argmax(scores.rewards))]
    added = [int(next(i for i in axes if i != firsts[0][0])) for axes in firsts[1:]]
    rewards = scores.rewards[[firsts[0][0], *added]]
    assert (np.diff(rewards) <= 1e-12).all()
    assert sorted([int(firsts[0][0]), *added]) == list(range(30))


def test_a_budget_beyond_the_population_tries_everyone_once():
    scores = population(verdicts(12, 60, 3))
    select = Select(scores, lambda v: -float(np.count_nonzero(v)))
    OPERATOR.search(scores, OperatorSettings(evaluations=500), select)
    assert len(select.asked) == 12


def test_members_with_shared_seeds_are_added_as_vectors():
    scores = around_a_cloud(15)
    truth = np.random.default_rng(1).normal(size=explicit(scores).shape[1])
    select = Select(scores, lambda v: float(v @ truth))
    (proposal,) = OPERATOR.search(scores, OperatorSettings(evaluations=15), select)
    kept = [scores.keys.index(key) for key in proposal.why["members"]]
    total = explicit(scores)[kept].sum(axis=0)
    np.testing.assert_allclose(vector(proposal.direction, scores), total / np.linalg.norm(total), atol=1e-12)
