"""The sign-flip test and the bootstrap-t interval against scipy and full enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import permutation_test

from corp.gate.paired import mcnemar
from corp.gate.resampling import EXACT, all_sums, bootstrap_t, interval, sign_flip

grades = st.integers(-8, 8).map(lambda n: n / 8)


@given(arrays(np.float64, st.integers(2, 9), elements=grades))
def test_p_value_is_scipys_exact_permutation_test(differences: np.ndarray) -> None:
    found = permutation_test(
        (differences, np.zeros_like(differences)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert sign_flip(differences) == pytest.approx(found.pvalue)


@pytest.mark.parametrize(("fixes", "regressions"), [(0, 0), (6, 0), (5, 1), (12, 3), (3, 12), (15, 5)])
def test_with_outcomes_of_0_and_1_it_is_the_exact_mcnemar_test(fixes: int, regressions: int) -> None:
    differences = np.array([1.0] * fixes + [-1.0] * regressions + [0.0] * 40)
    assert sign_flip(differences) == pytest.approx(mcnemar(fixes, regressions), rel=1e-12)


@pytest.mark.parametrize(("fixes", "regressions"), [(22, 9), (40, 30), (160, 120)])
def test_sampled_patterns_agree_with_the_exact_test(fixes: int, regressions: int) -> None:
    differences = np.array([1.0] * fixes + [-1.0] * regressions)
    exact = mcnemar(fixes, regressions)
    assert sign_flip(differences) == pytest.approx(exact, abs=4 * np.sqrt(exact / 99_999))


def test_the_smallest_sampled_p_value_is_one_in_a_hundred_thousand() -> None:
    assert sign_flip(np.ones(200)) == 1e-5


def test_under_exchange_small_p_values_are_as_rare_as_they_say() -> None:
    """Exact: every sign pattern of given sizes, each equally likely, ties in the sums included."""
    sizes = np.array([0.1, 0.1, 0.2, 0.3, 0.3, 0.4, 0.7, 1.0])
    found = np.array([sign_flip(sizes * signs) for signs in product((-1, 1), repeat=len(sizes))])
    for level in np.unique(found):
        assert np.mean(found <= level) <= level + 1e-12


def test_sums_are_those_of_all_patterns() -> None:
    values = np.array([0.3, -0.7, 1.1, 0.05])
    expected = sorted(values @ np.array([1, *signs]) for signs in product((-1, 1), repeat=3))
    assert sorted(all_sums(values)) == pytest.approx(expected)
    assert EXACT <= 22  # 2^21 sums of 8 bytes are held at once


def test_pivots_have_the_quantiles_of_every_possible_resample() -> None:
    differences = np.array([0.5, 0.1, -0.2, 0.9, 0.3])
    samples = differences[np.array(list(product(range(5), repeat=5)))]
    away = samples.mean(axis=1) - differences.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = away / (samples.std(axis=1, ddof=1) / np.sqrt(5))
    exact = np.where(np.ptp(samples, axis=1) == 0, np.copysign(np.inf, away), exact)
    pivots = bootstrap_t(differences)
    assert len(pivots) == 9_999
    for point in (-2.0, -0.5, 0.01, 0.5, 2.0):
        assert np.mean(pivots <= point) == pytest.approx(np.mean(exact <= point), abs=0.02)
    assert np.mean(np.isinf(pivots)) == pytest.approx(5 / 5**5, abs=0.002)


def test_interval_covers_a_skewed_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corp.gate.resampling.RESAMPLES", 1999)
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        differences = rng.exponential(size=50) - rng.exponential(0.3, size=50)  # mean 0.7, skewed
        low, high = interval(differences, bootstrap_t(differences, int(rng.integers(2**31))), 0.05)
        covered.append(low <= 0.7 <= high)
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 400)
