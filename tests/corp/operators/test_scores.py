"""A scored population: what is derived from it, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corp.errors import NoSignal, OperatorInvalid
from corp.operators import PopulationScores
from population.direction import Component, Direction
from tests.corp.operators.populations import (
    LAW,
    SIGMAS,
    alpha_by_anova,
    around_a_cloud,
    explicit,
    marked,
    population,
    verdicts,
    with_rewards,
)


def test_rewards_fixes_and_regressions_leave_out_invalid_verdicts():
    values = np.array([[1.0, 0.0, math.nan, 0.4], [0.0, 1.0, 1.0, 0.6]])
    base = np.array([0.0, 1.0, 0.0, math.nan])
    plain = population(values)
    scores = marked(plain.keys, plain.perturbations, plain.sigmas, values, base, threshold=0.5)
    np.testing.assert_allclose(scores.rewards, [1.4 / 3, 2.6 / 4])
    assert scores.success.tolist() == [[True, False, False, False], [False, True, True, True]]
    assert scores.fixes.tolist() == [[True, False, False, False], [False, False, True, False]]
    assert scores.regressions.tolist() == [[False, True, False, False], [False, False, False, False]]


def test_success_is_what_was_stored_whatever_the_value_says():
    """Values above every mark without success, and a success of low value."""
    values, base = np.array([[1.1, 0.2], [0.9, 1.1]]), np.array([1.1, 1.1])
    success = np.array([[False, True], [True, False]])
    plain = population(values)
    scores = PopulationScores(
        plain.keys, plain.perturbations, plain.sigmas, values, base, success, np.array([False, True])
    )
    assert scores.fixes.tolist() == [[False, False], [True, False]]
    assert scores.regressions.tolist() == [[False, False], [False, True]]
    np.testing.assert_allclose(scores.rewards, [0.65, 1.0])


def test_levels_are_the_members_of_each_sigma():
    scores = population(verdicts(8, 10))
    assert {sigma: members.tolist() for sigma, members in scores.levels.items()} == {
        SIGMAS[0]: [0, 3, 6],
        SIGMAS[1]: [1, 4, 7],
        SIGMAS[2]: [2, 5],
    }
    assert list(scores.levels) == sorted(SIGMAS)
    assert scores.radius == pytest.approx(np.sqrt(np.mean(np.square(scores.sigmas))))


def test_reliability_is_of_the_population_and_of_each_level():
    scores = population(verdicts(90, 60, 3))
    assert scores.reliability == pytest.approx(alpha_by_anova(scores.values))
    for sigma, members in scores.levels.items():
        assert scores.level_reliability[sigma] == pytest.approx(alpha_by_anova(scores.values[members]))
    mean, rho = scores.rewards.mean(), scores.reliability
    np.testing.assert_allclose(scores.shrunken, mean + rho * (scores.rewards - mean))


def test_coefficients_have_one_column_per_seed():
    for scores in (population(verdicts(9, 10)), around_a_cloud(9)):
        order = np.argsort(scores.seeds)
        np.testing.assert_allclose(scores.coefficients.toarray()[:, order], explicit(scores))


def test_equal_rewards_are_no_signal():
    population(with_rewards([0.1, 0.2])).require_signal()
    with pytest.raises(NoSignal, match=r"all 3 candidates have the same reward, 0\.3 – use a larger sigma"):
        population(with_rewards([0.3] * 3)).require_signal()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"keys": ("a",)}, "population of 1 cannot"),
        ({"keys": ("a", "b")}, "2 keys, 3 perturbations, 3 sigmas and 3 rows"),
        ({"values": np.zeros(3)}, r"values of shape \(3,\)"),
        ({"values": np.zeros((3, 0)), "base": np.zeros(0)}, r"values of shape \(3, 0\)"),
        ({"base": np.zeros(5)}, "5 base values for 4 prompts"),
        ({"success": np.zeros((3, 5), bool)}, r"successes of shapes \(3, 5\) and \(4,\)"),
        ({"base_success": np.zeros(3, bool)}, r"successes of shapes \(3, 4\) and \(3,\)"),
        (
            {"values": np.diag([math.nan, 1, 1])[:, [0, 1, 2, 2]], "success": np.ones((3, 4), bool)},
            "success without a valid",
        ),
        ({"base": np.full(4, math.nan), "base_success": np.ones(4, bool)}, "success without a valid"),
        ({"values": np.full((3, 4), math.inf)}, "a reward is infinite"),
        ({"values": np.array([[0.0] * 4, [math.nan] * 4, [1.0] * 4])}, "reward of c00001 is not a number"),
        ({"sigmas": np.array([1e-3, 0.0, 1e-3])}, "sigma must be > 0"),
        ({"sigmas": np.array([1e-3, math.nan, 1e-3])}, "sigma must be > 0"),
        ({"sigmas": np.array([1e-3, -1e-3, 1e-3])}, "sigma must be > 0"),
    ],
)
def test_what_is_no_scored_population_is_refused(change, match):
    members = tuple(Direction((Component(i, 1e-3),), LAW) for i in range(3))
    good = {
        "keys": ("c00000", "c00001", "c00002"),
        "perturbations": members,
        "sigmas": np.full(3, 1e-3),
        "values": np.eye(3, 4),
        "base": np.zeros(4),
        "success": np.eye(3, 4, dtype=bool),
        "base_success": np.zeros(4, bool),
    }
    PopulationScores(**good)
    with pytest.raises(OperatorInvalid, match=match):
        PopulationScores(**{**good, **change})
