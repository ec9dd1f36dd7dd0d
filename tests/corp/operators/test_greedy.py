"""Forward selection against its own definition, on a select split that is an explicit function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from corp.operators import OPERATORS, OperatorSettings, PopulationScores
from population.direction import Component, Direction
from tests.corp.operators.populations import (
    LAW,
    around_a_cloud,
    explicit,
    marked,
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
    settings = OperatorSettings(evaluations=7, radii=(0.5,))
    (proposal,) = OPERATOR.search(scores, settings, select)
    assert proposal.why["members"] == ["c00001", "c00003", "c00000", "c00005"]
    np.testing.assert_allclose(
        vector(proposal.direction, scores), np.array([1, 1, 0, 1, 0, 1]) / 2, atol=1e-12
    )
    assert [entry["kept"] for entry in proposal.why["tried"]] == [True, False, True, False, True, True]
    assert [entry["candidate"] for entry in proposal.why["tried"]] == [
        f"c0000{i}" for i in (1, 2, 3, 4, 0, 5)
    ]


def test_a_member_that_changes_nothing_is_left_out():
    scores = population(with_rewards([0.5, 0.9, 0.8, 0.7, 0.6, 0.1]), (1e-3,))
    select = Select(scores, lambda v: float(v[1] > 0))
    (proposal,) = OPERATOR.search(scores, OperatorSettings(evaluations=7, radii=(0.5,)), select)
    assert proposal.why["members"] == ["c00001"]


def test_the_budget_is_kept_and_every_trial_has_the_length_that_suits_the_first_members():
    scores = population(verdicts(50, 60, 1))
    settings = OperatorSettings(evaluations=12, radii=(0.25, 0.5, 1, 2), min_elites=5)
    radius = np.sqrt(np.mean(scores.sigmas**2))
    select = Select(scores, lambda v: -abs(np.linalg.norm(v) - 0.6 * radius) - np.count_nonzero(v))
    (proposal,) = OPERATOR.search(scores, settings, select)
    lengths = [np.linalg.norm(v) / radius for v in select.asked]
    np.testing.assert_allclose(lengths, [0.25, 0.5, 1, 2, *[0.5] * 8])
    assert proposal.why["radius"] == 0.5
    assert [np.count_nonzero(v) for v in select.asked[:5]] == [5, 5, 5, 5, 1]
    assert proposal.norm == pytest.approx(radius)
    assert proposal.scales == settings.radii


@pytest.mark.parametrize("evaluations", [2, 3, 5, 8, 200])
def test_small_and_large_budgets(evaluations):
    scores = population(verdicts(12, 60, 3))
    select = Select(scores, lambda v: -float(np.count_nonzero(v)))
    (proposal,) = OPERATOR.search(scores, OperatorSettings(evaluations=evaluations), select)
    assert len(select.asked) <= evaluations
    assert len(proposal.why["tried"]) == min(12, evaluations - max(1, min(8, evaluations // 3)))


def test_of_equally_good_lengths_the_shortest():
    scores = population(verdicts(30, 60, 1))
    select = Select(scores, lambda v: 0.5)
    (proposal,) = OPERATOR.search(scores, OperatorSettings(radii=(2, 0.5, 1)), select)
    assert proposal.why["radius"] == 0.5


def test_members_are_tried_by_their_standing_within_their_sigma():
    """A sigma that costs everyone 20 points still has its best member."""
    values = np.vstack([verdicts(20, 200, 1, 1.0), verdicts(20, 200, 2, 1.0)])
    values[20:, :40] = 0
    scores = population(values, (1e-3,))
    sigmas = np.repeat([1e-3, 2e-3], 20)
    members = tuple(Direction((Component(i, s),), LAW) for i, s in enumerate(sigmas.tolist()))
    scores = marked(scores.keys, members, sigmas, values, scores.base)
    select = Select(scores, lambda v: 0.0)
    (proposal,) = OPERATOR.search(scores, OperatorSettings(evaluations=60), select)
    order = [scores.keys.index(entry["candidate"]) for entry in proposal.why["tried"]]
    best = [int(np.argmax(scores.rewards[:20])), 20 + int(np.argmax(scores.rewards[20:]))]
    assert set(order[:2]) == set(best)
    assert sorted(order) == list(range(40))
    for half in (range(20), range(20, 40)):
        rewards = [scores.rewards[i] for i in order if i in half]
        assert rewards == sorted(rewards, reverse=True)


def test_where_no_sigma_has_a_signal_the_reward_decides_the_order():
    scores = population(verdicts(30, 50, 2, spread=0.0))
    select = Select(scores, lambda v: 0.0)
    (proposal,) = OPERATOR.search(scores, OperatorSettings(evaluations=60), select)
    rewards = [scores.rewards[scores.keys.index(entry["candidate"])] for entry in proposal.why["tried"]]
    assert rewards == sorted(rewards, reverse=True)


def test_members_with_shared_seeds_are_added_as_vectors():
    scores = around_a_cloud(15)
    truth = np.random.default_rng(1).normal(size=explicit(scores).shape[1])
    select = Select(scores, lambda v: float(v @ truth))
    (proposal,) = OPERATOR.search(scores, OperatorSettings(evaluations=22), select)
    kept = [scores.keys.index(key) for key in proposal.why["members"]]
    total = explicit(scores)[kept].sum(axis=0)
    np.testing.assert_allclose(vector(proposal.direction, scores), total / np.linalg.norm(total), atol=1e-12)
