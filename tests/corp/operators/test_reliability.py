"""Reliability against brute force over all halves; the softmax floor against scipy's root."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from scipy.special import softmax

from corp.operators.reliability import effective_size, reliability, shrunken, softmax_with_floor
from tests.corp.operators.populations import alpha_by_anova, verdicts


def over_all_halves(values: np.ndarray) -> float:
    """Flanagan's split-half coefficient, the covariance form of Spearman-Brown, averaged over all halves."""
    m = values.shape[1]
    found = []
    for half in combinations(range(m), m // 2):
        one = values[:, list(half)].sum(axis=1)
        other = values[:, [j for j in range(m) if j not in half]].sum(axis=1)
        found.append(4 * np.cov(one, other)[0, 1] / np.var(one + other, ddof=1))
    return float(np.mean(found))


@pytest.mark.parametrize("m", [2, 4, 6, 8, 10])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_mean_over_all_split_halves(m, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(12, m)) + rng.normal(size=(12, 1)) + rng.normal(size=(1, m))
    expected = over_all_halves(values)
    assert reliability(values) == pytest.approx(max(expected, 0.0), abs=1e-12)
    assert alpha_by_anova(values) == pytest.approx(expected, abs=1e-12)


def test_it_foretells_the_correlation_with_fresh_prompts():
    """Members scored on two independent sets of prompts: the correlation is the reliability."""
    values = verdicts(2000, 160, seed=3, spread=0.3)
    first, second = values[:, :80], values[:, 80:]
    correlation = np.corrcoef(first.mean(axis=1), second.mean(axis=1))[0, 1]
    assert reliability(first) == pytest.approx(correlation, abs=0.06)
    assert 0.3 < correlation < 0.8


def test_members_that_do_not_differ_have_hardly_any():
    found = [reliability(verdicts(60, 100, seed, spread=0.0)) for seed in range(200)]
    assert np.mean(found) < 0.12
    assert np.mean([value == 0 for value in found]) == pytest.approx(0.5, abs=0.12)


def test_equal_prompts_have_all_of_it():
    column = np.random.default_rng(0).normal(size=(20, 1))
    assert reliability(np.repeat(column, 5, axis=1)) == pytest.approx(1)


def test_invalid_verdicts_are_left_out_without_a_bias():
    whole = verdicts(400, 120, seed=1)
    missing = np.random.default_rng(2).random(whole.shape) < 0.1
    holed = np.where(missing, np.nan, whole)
    # A tenth fewer prompts lower it as Spearman and Brown foretell.
    rho = reliability(whole)
    assert reliability(holed) == pytest.approx(0.9 * rho / (1 - 0.1 * rho), abs=0.02)


def test_a_prompt_without_any_verdict_changes_nothing():
    values = verdicts(30, 40, seed=5)
    assert reliability(np.column_stack([values, np.full(30, np.nan)])) == pytest.approx(reliability(values))


@pytest.mark.parametrize(
    "values",
    [
        np.array([[0.0, 1.0, 1.0]]),
        np.array([[0.0], [1.0]]),
        np.ones((4, 5)),
        np.tile([0.1, 0.7, 0.3], (6, 1)),
        np.array([[np.nan, 1.0], [0.0, np.nan]]),
        1e6 + np.tile([0.1, 0.7, 0.3], (6, 1)),
    ],
)
def test_where_nothing_can_be_told_it_is_zero(values):
    assert reliability(values) == 0.0


@given(st.integers(0, 10**6), st.sampled_from([-3.0, 0.25, 7.0]), st.sampled_from([-2.0, 0.0, 11.0]))
def test_units_order_and_prompt_difficulty_do_not_matter(seed, factor, shift):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(9, 7)) + rng.normal(size=(9, 1))
    other = (factor * (values + rng.normal(size=(1, 7))) + shift)[rng.permutation(9)][:, rng.permutation(7)]
    assert reliability(other) == pytest.approx(reliability(values), abs=1e-9)


def test_shrinking_keeps_the_mean_and_takes_off_the_spread():
    rewards = np.array([0.1, 0.4, 0.7])
    np.testing.assert_allclose(shrunken(rewards, 0.25), [0.325, 0.4, 0.475])
    np.testing.assert_array_equal(shrunken(rewards, 1.0), rewards)
    np.testing.assert_allclose(shrunken(rewards, 0.0), 0.4)


def test_shrunken_rewards_are_nearer_to_the_truth():
    rng = np.random.default_rng(7)
    ability = rng.normal(0.5, 0.03, size=(500, 1))
    values = (rng.random((500, 64)) < ability).astype(float)
    rewards = values.mean(axis=1)
    pulled = shrunken(rewards, reliability(values))
    assert np.mean((pulled - ability[:, 0]) ** 2) < 0.5 * np.mean((rewards - ability[:, 0]) ** 2)


logit_arrays = arrays(
    float, st.integers(1, 40), elements=st.floats(-300, 300, allow_subnormal=False), unique=False
)


@given(logit_arrays, st.floats(1, 60))
def test_the_floor_holds_and_weights_keep_the_order(logits, floor):
    weights = softmax_with_floor(logits, floor)
    assert weights.sum() == pytest.approx(1)
    assert effective_size(weights) >= min(floor, len(logits)) * (1 - 1e-9)
    assert effective_size(weights) <= len(logits) * (1 + 1e-9)
    assert (np.diff(weights[np.argsort(logits, kind="stable")]) >= -1e-15).all()


@given(logit_arrays)
def test_a_floor_of_one_is_the_plain_softmax(logits):
    np.testing.assert_allclose(softmax_with_floor(logits, 1.0), softmax(logits), rtol=1e-12)


@given(st.integers(0, 10**6), st.integers(3, 30), st.floats(1.1, 2.9), st.floats(10, 1000))
def test_the_temperature_is_the_lowest_that_meets_the_floor(seed, k, floor, spread):
    logits = np.random.default_rng(seed).normal(size=k) * spread
    found = softmax_with_floor(logits, floor)
    if effective_size(softmax(logits)) >= floor:
        np.testing.assert_allclose(found, softmax(logits), rtol=1e-12)
        return
    root = brentq(
        lambda t: 1 / np.sum(softmax(logits / np.exp(t)) ** 2) - floor, 0, 25, xtol=1e-13, rtol=1e-14
    )
    np.testing.assert_allclose(found, softmax(logits / np.exp(root)), rtol=1e-6, atol=1e-12)


@given(st.integers(0, 10**6), st.sampled_from([1e3, 1e9, 1e200]))
def test_above_the_floor_the_size_of_the_logits_does_not_matter(seed, factor):
    logits = np.random.default_rng(seed).normal(size=12) * 1e3
    one, other = softmax_with_floor(logits, 6), softmax_with_floor(logits * factor, 6)
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_floor_beyond_the_members_makes_them_equal():
    np.testing.assert_array_equal(softmax_with_floor(np.array([0.0, 50.0, 900.0, 3.0]), 8), np.full(4, 0.25))
