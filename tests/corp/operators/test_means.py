"""Weighted means of elites: corp, reward_mean, elite_mean and top1 against explicit vectors."""

from __future__ import annotations

import numpy as np
import pytest

from corp.errors import OperatorInvalid
from corp.operators import OPERATORS, OperatorSettings
from population.direction import Component, Direction
from tests.corp.operators.populations import (
    ANY_SIZE,
    LAW,
    QS,
    SIGMAS,
    alpha_by_anova,
    around_a_cloud,
    compatibility,
    explicit,
    floored,
    marked,
    population,
    quantile_elites,
    vector,
    verdicts,
    with_rewards,
)

SETTINGS = OperatorSettings(q=QS, beta=(0.5, 5, 50), min_ess=10, min_elites=1)
UNSHRUNKEN = OperatorSettings(q=(0.5,), beta=(1, 5), min_ess=1, min_elites=1)


def by_hand(name, scores, q, beta, min_ess):
    rewards = scores.values.mean(axis=1)
    rho = min(max(alpha_by_anova(scores.values), 0), 1)
    pulled = rewards.mean() + rho * (rewards - rewards.mean())
    elite = quantile_elites(rewards, q)
    points = explicit(scores)[elite]
    if name == "elite_mean":
        return points.mean(axis=0)
    weights = floored(beta * pulled[elite], min_ess)
    if name == "corp":
        weights = floored(beta * pulled[elite] + compatibility(weights, points), min_ess)
    return weights @ points


@pytest.mark.parametrize("name", ["corp", "reward_mean", "elite_mean"])
@pytest.mark.parametrize(
    "scores", [population(verdicts(80, 96, 1)), around_a_cloud(40)], ids=["isotropic", "around a cloud"]
)
def test_proposals_are_the_unit_means_over_the_grid(name, scores):
    seen = []
    for proposal in OPERATORS[name].propose(scores, SETTINGS):
        assert (proposal.name, proposal.scales, proposal.must_beat_base) == (name, SETTINGS.scales, True)
        assert proposal.direction.step == 1.0
        assert proposal.direction.norm() == pytest.approx(1)
        for setting in proposal.why["settings"]:
            mean = by_hand(name, scores, setting["q"], setting.get("beta"), SETTINGS.min_ess)
            assert proposal.norm == pytest.approx(np.linalg.norm(mean), rel=1e-6)
            expected = mean / np.linalg.norm(mean)
            np.testing.assert_allclose(vector(proposal.direction, scores), expected, atol=1e-6)
            seen.append((setting["q"], setting.get("beta")))
    betas = (None,) if name == "elite_mean" else SETTINGS.beta
    assert sorted(seen, key=str) == sorted(((q, b) for q in QS for b in betas), key=str)


def test_without_any_reliability_only_compatibility_tells_elites_apart():
    """Every member is right on prompts of its own: rewards differ, but no half foretells the other."""
    values = np.zeros((60, 120))
    for i in range(60):
        values[i, 2 * i : 2 * i + 1 + (i >= 30)] = 1
    scores = population(values, (1e-3,))
    assert scores.reliability == 0
    (proposal,) = OPERATORS["reward_mean"].propose(scores, OperatorSettings(q=(0.5,), beta=(5, 50)))
    expected = np.where(np.arange(60) >= 30, 1 / np.sqrt(30), 0)
    np.testing.assert_allclose(vector(proposal.direction, scores), expected, atol=1e-12)
    assert proposal.why["ess"] == pytest.approx(30)
    (corp,) = OPERATORS["corp"].propose(scores, OperatorSettings(q=(0.5,), beta=(5, 50)))
    np.testing.assert_allclose(vector(corp.direction, scores), expected, atol=1e-9)


def test_settings_that_give_one_direction_are_one_proposal():
    scores = population(with_rewards([0.1] * 7 + [0.5, 0.5, 0.9]))
    # q = 0.9 and 0.95 leave the same single elite, whatever beta is.
    (proposal,) = OPERATORS["corp"].propose(
        scores, OperatorSettings(q=(0.9, 0.95), beta=(1, 5), min_elites=1)
    )
    found = [(s["q"], s["beta"]) for s in proposal.why["settings"]]
    assert found == [(0.9, 1), (0.9, 5), (0.95, 1), (0.95, 5)]
    apart = OperatorSettings(q=(0.5, 0.9), beta=(1, 5), min_elites=1, min_ess=1)
    assert len(OPERATORS["corp"].propose(scores, apart)) == 3


def test_settings_that_are_nearly_alike_stay_apart():
    scores = population(verdicts(48))
    for beta, expected in ((1 + 1e-6, 2), (1 + 1e-15, 1)):
        settings = OperatorSettings(q=(0.5,), beta=(1, beta))
        assert len(OPERATORS["reward_mean"].propose(scores, settings)) == expected


ELITIST = ["corp", "reward_mean", "elite_mean", "top_r", "random_mean", "response", "ties", "dare"]


@pytest.mark.parametrize("name", ELITIST)
def test_a_quantile_that_leaves_too_few_elites_is_skipped_on_record(name):
    scores = population(verdicts(48, 96, 5))
    few = len(quantile_elites(scores.values.mean(axis=1), 0.9))
    assert 1 < few < 8
    for proposal in OPERATORS[name].propose(scores, OperatorSettings(q=(0.5, 0.9), beta=(5,), min_ess=4)):
        assert proposal.why["skipped"] == [{"q": 0.9, "elites": few}]
        assert [setting["q"] for setting in proposal.why["settings"]] == [0.5]


@pytest.mark.parametrize("name", ELITIST)
def test_too_few_elites_at_every_quantile_are_refused(name):
    scores = population(with_rewards(np.arange(12) / 20))
    with pytest.raises(OperatorInvalid, match=r"at most 6 of 12 candidates .* min_elites = 8 – raise pop"):
        OPERATORS[name].propose(scores, OperatorSettings())


def test_best_single_takes_the_first_of_equals_at_its_own_sigma():
    scores = population(with_rewards([0.1, 0.2, 0.9, 0.9, 0.1, 0.0]))
    (proposal,) = OPERATORS["top1"].propose(scores, OperatorSettings())
    assert proposal.direction.coefficients() == {1002: 1.0}
    assert proposal.norm == scores.sigmas[2] == SIGMAS[2]
    assert proposal.why == {"candidate": "c00002", "reward": 0.9}
    assert proposal.scales == (1.0,)
    # At scale 1 the line search builds exactly the candidate that was scored.
    moved = proposal.direction * proposal.norm
    assert moved.coefficients() == scores.perturbations[2].coefficients()


def test_one_seed_at_two_sigmas_becomes_one_component():
    plain = population(with_rewards([0.1, 0.6, 0.7, 0.2]))
    parts = [(5, 1e-3), (9, 1e-3), (9, 2e-3), (6, 1e-3)]
    members = tuple(Direction((Component(*part),), LAW) for part in parts)
    scores = marked(plain.keys, members, np.array([p[1] for p in parts]), plain.values, plain.base)
    for name in ("corp", "reward_mean", "elite_mean", "corp_paper_code"):
        for proposal in OPERATORS[name].propose(scores, UNSHRUNKEN):
            assert proposal.direction.coefficients() == pytest.approx({9: 1.0})
            assert 1e-3 < proposal.norm < 2e-3


def test_the_floor_of_the_effective_sample_size_reaches_the_proposals():
    scores = population(verdicts(100, 96, 2, spread=2.0))
    sharp = OperatorSettings(q=(0.5,), beta=(1000,), min_ess=12)
    for name in ("corp", "reward_mean"):
        (proposal,) = OPERATORS[name].propose(scores, sharp)
        assert proposal.why["ess"] == pytest.approx(12, rel=1e-6)
    (free,) = OPERATORS["reward_mean"].propose(scores, sharp.model_copy(update={"min_ess": 1}))
    assert free.why["ess"] < 6


def test_a_soup_has_equal_weights():
    scores = population(with_rewards([0.1, 0.4, 0.5, 0.2]), (1e-3,))
    (proposal,) = OPERATORS["elite_mean"].propose(scores, ANY_SIZE.model_copy(update={"q": (0.5,)}))
    assert proposal.direction.coefficients() == pytest.approx({1001: 0.5**0.5, 1002: 0.5**0.5})
    assert proposal.norm == pytest.approx(1e-3 / 2**0.5)
