"""The null control: random members, whatever their rewards."""

from __future__ import annotations

import numpy as np
import pytest

from corp.operators import OPERATORS, OperatorSettings
from tests.corp.operators.populations import marked, population, quantile_elites, vector, verdicts

OPERATOR = OPERATORS["random_mean"]
SETTINGS = OperatorSettings()


def members(proposal, scores):
    return set(np.flatnonzero(vector(proposal.direction, scores)).tolist())


def test_as_many_members_as_elites_with_equal_weights_at_our_radii():
    scores = population(verdicts(100, 50, 2))
    proposals = OPERATOR.propose(scores, SETTINGS)
    assert len(proposals) == 3
    for proposal, q in zip(proposals, SETTINGS.q, strict=True):
        chosen = sorted(members(proposal, scores))
        assert len(chosen) == len(quantile_elites(scores.values.mean(axis=1), q))
        share = vector(proposal.direction, scores)[chosen] / scores.sigmas[chosen]
        np.testing.assert_allclose(share, share[0])
        assert proposal.direction.norm() == pytest.approx(1)
        assert proposal.scales == SETTINGS.radii
        assert proposal.norm == pytest.approx(np.sqrt(np.mean(scores.sigmas**2)))


def test_rewards_have_no_say_in_who_is_drawn():
    scores = population(verdicts(100, 50, 2))
    worse = marked(scores.keys, scores.perturbations, scores.sigmas, 1 - scores.values, scores.base)
    half = OperatorSettings(q=(0.5,))
    (one,), (other,) = OPERATOR.propose(scores, half), OPERATOR.propose(worse, half)
    chosen, again = members(one, scores), members(other, worse)
    assert chosen <= again or again <= chosen


def test_the_seed_draws_and_the_mean_reward_of_many_draws_is_the_populations():
    scores = population(verdicts(100, 50, 2))
    half = [OperatorSettings(q=(0.5,), seed=seed) for seed in range(200)]
    drawn = [members(OPERATOR.propose(scores, settings)[0], scores) for settings in half]
    assert len({frozenset(chosen) for chosen in drawn}) == 200
    means = [scores.rewards[sorted(chosen)].mean() for chosen in drawn]
    error = scores.rewards.std() / np.sqrt(len(drawn[0]))
    assert np.mean(means) == pytest.approx(scores.rewards.mean(), abs=4 * error / np.sqrt(200))
    assert np.std(means) < 1.1 * error


def test_equal_rewards_do_not_keep_a_null_control_from_its_work():
    assert OPERATOR.propose(population(np.ones((20, 4))), SETTINGS)
