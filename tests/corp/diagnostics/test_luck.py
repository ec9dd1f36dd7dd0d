"""The best of many equals, held against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from corp.diagnostics.luck import Null, histogram, no_effect, search_luck, select_luck
from tests.corp.operators.populations import population, verdicts


def null(counts: list[int], means: list[float], spreads: list[float]) -> Null:
    return Null(np.array(counts), np.array(means), np.array(spreads))


@pytest.mark.parametrize("n", [1, 2, 10, 500, 5000])
def test_one_level_agrees_with_blom(n: int) -> None:
    found = null([n], [0.4], [0.03]).expected_best()
    blom = 0.4 + 0.03 * norm.ppf((n - 0.375) / (n + 0.25))
    assert found == pytest.approx(blom, abs=0.03 * 0.03)


def test_levels_of_unequal_means_agree_with_simulation() -> None:
    rng = np.random.default_rng(0)
    counts, means, spreads = [40, 40, 10], [0.50, 0.47, 0.30], [0.02, 0.03, 0.05]
    drawn = np.concatenate(
        [rng.normal(m, s, (20_000, n)) for n, m, s in zip(counts, means, spreads, strict=True)], axis=1
    ).max(axis=1)
    error = drawn.std() / math.sqrt(len(drawn))
    assert null(counts, means, spreads).expected_best() == pytest.approx(drawn.mean(), abs=4 * error)


def test_no_spread_at_all_is_the_best_mean() -> None:
    assert null([3, 4], [0.2, 0.6], [0.0, 0.0]).expected_best() == 0.6


def test_equally_good_candidates_do_as_well_as_expected() -> None:
    """Binary answers from chances per prompt: the mean best of 400 searches is the one that is expected."""
    rng = np.random.default_rng(1)
    chance = rng.random(120)
    found = [
        search_luck(population((rng.random((64, 120)) < chance).astype(float), sigmas=(0.01, 0.02)))
        for _ in range(400)
    ]
    best = np.array([luck.best for luck in found])
    expected = np.mean([luck.expected_best for luck in found])
    assert expected == pytest.approx(best.mean(), abs=4 * best.std() / math.sqrt(400))
    assert np.mean([luck.luck_spread for luck in found]) == pytest.approx(
        math.sqrt(np.mean(chance * (1 - chance)) / 120), rel=0.01
    )


def test_what_a_sigma_costs_everyone_is_no_spread_within_it() -> None:
    rng = np.random.default_rng(3)
    chance = np.where(np.arange(400) % 2, 0.2, 0.7)[:, None]
    found = search_luck(population((rng.random((400, 80)) < chance).astype(float), sigmas=(0.01, 0.02)))
    assert found.spread == pytest.approx(found.luck_spread, rel=0.15)


def test_candidates_that_differ_spread_further_than_luck() -> None:
    found = search_luck(population(verdicts(200, 200, spread=1.0)))
    assert found.spread > 1.5 * found.luck_spread
    assert found.best > found.expected_best + found.luck_spread


def test_graded_rewards_and_invalid_verdicts_count() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(0.5, 0.2, (300, 50))
    values[rng.random(values.shape) < 0.1] = np.nan
    (spread,) = no_effect(population(values, sigmas=(0.01,))).spreads
    assert spread == pytest.approx(0.2 / math.sqrt(45), rel=0.03)


def test_every_candidate_is_in_a_bin_and_in_the_expectation() -> None:
    scores = population(verdicts(90, 60))
    found = histogram(scores.rewards, no_effect(scores))
    assert sum(found.counts) == 90
    assert sum(found.expected) == pytest.approx(90)
    assert len(found.edges) == len(found.counts) + 1 == len(found.expected) + 1


def test_equal_rewards_make_one_bin() -> None:
    scores = population(np.ones((20, 5)))
    found = histogram(scores.rewards, no_effect(scores))
    assert max(found.counts) == 20
    assert search_luck(scores).expected_best == 1.0


def test_best_of_equal_steps_stays_below_the_bound() -> None:
    """Models as good as the base that answer independently: the bound holds, and is not idle."""
    rng = np.random.default_rng(3)
    excess = []
    for _ in range(300):
        base = (rng.random(200) < 0.5).astype(float)
        points = (rng.random((42, 200)) < 0.5).astype(float)
        best = points[points.mean(axis=1).argmax()]
        luck = select_luck(42, base, best)
        assert luck is not None
        excess.append((luck.best - 0.5, luck.expected_best - luck.base))
    real, bound = np.mean(excess, axis=0)
    assert 0.9 * bound <= real <= 1.1 * bound


def test_prompts_without_two_verdicts_are_left_out() -> None:
    nothing = np.full(3, np.nan)
    assert select_luck(5, nothing, np.ones(3)) is None
    luck = select_luck(5, np.array([np.nan, 0.0, 1.0]), np.array([1.0, 1.0, 1.0]))
    assert luck is not None
    assert luck.prompts == 2
