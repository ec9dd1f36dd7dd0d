"""The search distribution against its definition in rational and extended arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from corp.following import axes_of, constructive, ess_target, follow, next_iota, search_weights
from corp.operators import PopulationScores
from population.direction import Component, Direction, Law
from tests.corp.operators.populations import marked

COUNTS = st.lists(st.integers(1, 60), min_size=1, max_size=60)


def flags(rows: list[list[int]]) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    return np.array(rows, np.bool_)


@given(
    st.lists(st.tuples(*[st.sampled_from("FR.-")] * 9), min_size=1, max_size=6),
    st.sampled_from([0, 1, 2, 3.5]),
)
def test_constructive_score_counts_fixes_less_regressions_over_what_was_judged(
    rows: list[tuple[str, ...]], rho: float
) -> None:
    fixes, regressions, judged = (
        np.array([[letter in letters for letter in row] for row in rows]) for letters in ("F", "R", "FR.")
    )
    score = constructive(fixes, regressions, judged, rho)
    for row, value in zip(rows, score, strict=True):
        n = sum(letter != "-" for letter in row)
        exact = (row.count("F") - Fraction(rho) * row.count("R")) / max(n, 1)
        assert value == pytest.approx(float(exact), abs=1e-15)


@given(COUNTS, st.floats(1, 40))
def test_search_distribution_has_the_asked_effective_size_and_grows_with_the_score(
    counts: list[int], target: float
) -> None:
    score = np.array(counts) / 100
    weights = search_weights(score, target)
    assert weights.sum() == pytest.approx(1)
    ties = int((score == score.max()).sum())
    size = 1 / np.sum(weights**2)
    assert size == pytest.approx(min(max(target, ties), len(score)), rel=1e-9)
    assert (np.diff(weights[np.argsort(score)]) >= -1e-15).all()


@given(st.lists(st.integers(1, 40), min_size=6, max_size=40), st.floats(1.5, 5))
def test_its_temperature_solves_the_effective_size_in_long_double(counts: list[int], target: float) -> None:
    score = np.array(counts, np.longdouble) / 200
    ties = int((score == score.max()).sum())
    if ties >= target or len(counts) <= target:
        return

    def size(log_tau: float) -> float:
        w = np.exp((score - score.max()) / np.longdouble(math.exp(log_tau)))
        return float(w.sum() ** 2 / (w**2).sum() - target)

    tau = math.exp(brentq(size, -12, 8, xtol=1e-14))
    expected = np.exp((score - score.max()) / tau)
    expected /= expected.sum()
    np.testing.assert_allclose(
        search_weights(score.astype(np.float64), target), expected.astype(float), rtol=1e-7
    )


def test_candidates_that_tie_share_the_weight_whatever_the_target() -> None:
    np.testing.assert_allclose(search_weights(np.array([0.2, 0.2, 0.1]), 1.0), [0.5, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(search_weights(np.array([0.2, 0.3, 0.1]), 30.0), [1 / 3] * 3)


def test_effective_size_falls_geometrically_from_16_to_4() -> None:
    assert [ess_target(n, 3) for n in (1, 2, 3)] == pytest.approx([16, 8, 4])
    assert ess_target(1, 1) == 16
    found = [ess_target(n, 5) for n in range(1, 6)]
    ratios = [b / a for a, b in pairwise(found)]
    assert ratios == pytest.approx([ratios[0]] * 4)


@given(st.floats(0.05, 0.95), st.floats(0, 1))
def test_isotropic_share_follows_the_formula_and_stays_inside(iota: float, positive: float) -> None:
    found = next_iota(iota, positive)
    wanted = np.clip(0.15 + 0.8 * (1 - positive), 0.15, 0.95)
    assert found == pytest.approx(float(np.clip(0.5 * iota + 0.5 * wanted, 0.05, 0.95)))
    assert 0.05 <= found <= 0.95


def test_isotropic_share_settles_between_015_and_095() -> None:
    for positive, end in ((0.0, 0.95), (1.0, 0.15), (0.5, 0.55)):
        iota = 0.5
        for _ in range(60):
            iota = next_iota(iota, positive)
        assert iota == pytest.approx(end)


def population(values: list[list[float]]) -> PopulationScores:
    """Members with two seeds each, one of them common to all; the centre fails every prompt."""
    n = len(values)
    members = tuple(Direction((Component(99, 0.002 * (i + 1)), Component(i, 0.01)), Law()) for i in range(n))
    return marked(
        tuple(f"c{i}" for i in range(n)),
        members,
        np.full(n, 0.01),
        np.array(values, np.float64),
        np.zeros(len(values[0])),
    )


def test_candidates_that_do_not_help_have_no_part_in_the_axes() -> None:
    scores = population([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1], [1, 0, 0, 0]])
    cloud = follow(scores, 2.0, 2.5)
    assert cloud is not None
    assert len(cloud.weights) == 3
    assert cloud.ess == pytest.approx(2.5)
    axes = axes_of(cloud, scores.seeds, 8)
    assert axes is not None
    assert set(axes.seeds) == {99, 0, 2, 3}


def test_axes_are_the_eigenvectors_of_the_dense_covariance() -> None:
    draw = np.random.default_rng(0)
    scores = population((draw.random((12, 20)) < 0.4).astype(float).tolist())
    cloud = follow(scores, 2.0, 6.0)
    assert cloud is not None
    axes = axes_of(cloud, scores.seeds, 4)
    assert axes is not None
    points = cloud.points.toarray()
    centred = points - cloud.weights @ points
    values, vectors = np.linalg.eigh(centred.T @ (cloud.weights[:, None] * centred))
    np.testing.assert_allclose(axes.energies, values[::-1][:4], rtol=1e-9)
    full = np.zeros((4, len(scores.seeds)))
    full[:, [scores.seeds.index(seed) for seed in axes.seeds]] = axes.vectors
    np.testing.assert_allclose(np.abs(np.sum(full * vectors[:, ::-1].T[:4], axis=1)), 1, rtol=1e-9)


def test_where_none_helps_there_is_nothing_to_follow() -> None:
    assert follow(population([[0, 0], [0, 0]]), 2.0, 16.0) is None


def test_a_cloud_of_one_member_has_no_axes() -> None:
    scores = population([[1, 1], [0, 0]])
    cloud = follow(scores, 2.0, 16.0)
    assert cloud is not None
    assert axes_of(cloud, scores.seeds, 8) is None
