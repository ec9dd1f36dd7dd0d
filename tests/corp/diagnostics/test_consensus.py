"""Split halves agree where rewards pick a shared structure, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from corp.diagnostics.consensus import Consensus, best_half, consensus, cosines, overlap, permuted
from corp.diagnostics.sketch import sketch
from corp.operators import PopulationScores
from tests.corp.diagnostics.planted import SIGMA, TENSORS, binary, independent, scored, sharing


def measured(scores: PopulationScores, seed: int = 0) -> Consensus:
    found = consensus(scores, sketch(scores, TENSORS, coordinates=512, seed=seed), seed=seed)
    assert found is not None
    return found


def random_halves(k: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(k, p)), rng.random(k)
    return points, weights / weights.sum(), rng.random((6, k)) < 0.5


def test_cosines_are_those_of_the_halves_weighted_means() -> None:
    points, weights, coins = random_halves(12, 30)
    for coin, found in zip(coins, cosines(points @ points.T, weights, coins), strict=True):
        a, b = weights[coin] @ points[coin], weights[~coin] @ points[~coin]
        assert found == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-12)


def test_overlap_is_the_mean_squared_cosine_of_the_principal_angles() -> None:
    points, weights, coins = random_halves(20, 15, seed=1)
    for coin in coins:
        axes = []
        for half in (coin, ~coin):
            part = weights[half] / weights[half].sum()
            centred = points[half] - part @ points[half]
            axes.append(np.linalg.svd(np.sqrt(part)[:, None] * centred)[2][:3].T)
        expected = np.mean(np.cos(subspace_angles(*axes)) ** 2)
        assert overlap(points @ points.T, weights, coin, 3) == pytest.approx(expected, abs=1e-9)


def test_halves_share_no_member() -> None:
    """Orthogonal members have nothing in common: any cosine but zero is a member that is in both halves."""
    coins = np.random.default_rng(0).random((200, 16)) < 0.5
    assert not cosines(np.eye(16), np.full(16, 1 / 16), coins).any()


def test_an_empty_half_says_nothing() -> None:
    everyone = np.ones((1, 4), bool)
    assert cosines(np.eye(4), np.full(4, 0.25), everyone).tolist() == [0.0]
    assert overlap(np.eye(4), np.full(4, 0.25), everyone[0], 2) == 0.0


@given(st.integers(1, 1000), st.integers(2, 40))
def test_a_sigma_keeps_its_rewards_under_permutation(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = rng.random(n)
    groups = [np.arange(0, n, 2), np.arange(1, n, 2)]
    dealt = permuted(rewards, groups, rng)
    for members in groups:
        assert sorted(dealt[members]) == sorted(rewards[members])


def test_elites_are_the_better_half() -> None:
    rewards = np.array([0.1, 0.9, 0.5, 0.9, 0.2, 0.4])
    assert best_half(rewards).tolist() == [1, 3, 2]


def test_too_few_elites_give_no_statistic() -> None:
    scores = independent(14, 0)
    assert consensus(scores, sketch(scores, TENSORS, coordinates=512)) is None


def test_a_shared_direction_that_pays_shows_in_the_means() -> None:
    found = measured(sharing(80, 1, dimensions=1, drift=1.0, rewarded=True))
    assert found.mean.lower > 0.1
    assert found.mean.p_value == 1 / 40


def test_a_shared_subspace_that_pays_shows_in_the_overlap() -> None:
    found = measured(sharing(60, 1, dimensions=4, drift=0.0, rewarded=True))
    assert found.subspace.lower > 0.05
    assert found.subspace.p_value == 1 / 40


def test_independent_noise_with_rewards_by_chance_shows_nothing() -> None:
    found = measured(independent(40, 5), seed=5)
    assert abs(found.mean.observed) < 4 / np.sqrt(512)
    assert found.subspace.observed == pytest.approx(8 / 512, abs=0.01)


def test_what_the_better_sigma_has_in_common_is_no_excess() -> None:
    """All elites are of one sigma, whose members lean one way: rewards within it know nothing of that."""
    leaning, others = sharing(24, 2, 1, 2.0, rewarded=False), independent(24, 3)
    rng = np.random.default_rng(2)
    scores = scored(
        [*leaning.perturbations, *others.perturbations],
        binary(rng, np.repeat([0.8, 0.2], 24)),
        np.repeat([SIGMA, 2 * SIGMA], 24),
    )
    found = measured(scores)
    assert found.mean.observed > 0.3
    assert found.mean.excess == pytest.approx(0, abs=0.05)
    assert found.mean.lower <= 0


def test_a_lower_bound_above_zero_has_a_permutation_test_behind_it() -> None:
    """Members that all lean one way, whatever their rewards: the split's quantile alone would pass."""
    found = [measured(sharing(24, seed, 1, 1.0, rewarded=False)).mean for seed in range(15, 20)]
    assert all(one.lower <= 0 or one.p_value <= 0.05 for one in found)


def test_equal_seeds_give_equal_statistics() -> None:
    scores = independent(24, 6)
    assert measured(scores) == measured(scores)


def rates(populations: list[PopulationScores]) -> np.ndarray:
    """How often each lower bound passes zero, and each p-value reaches 0.05."""
    found = [measured(scores, seed) for seed, scores in enumerate(populations)]
    both = [one for each in found for one in (each.mean, each.subspace)]
    passed = np.array([(one.lower > 0, one.p_value <= 0.05) for one in both])
    return passed.reshape(len(found), 4).mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["independent", "subspace", "lean"])
def test_no_excess_is_found_where_rewards_know_nothing_of_the_noise(kind: str) -> None:
    """Whatever the population shares: at most 5 %, and three standard errors of 150 populations more."""
    populations = [
        independent(40, seed)
        if kind == "independent"
        else sharing(40, seed, 4 if kind == "subspace" else 1, 0.0 if kind == "subspace" else 1.0, False)
        for seed in range(150)
    ]
    assert (rates(populations) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)).all()
