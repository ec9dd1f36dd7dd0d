"""The mean within its cloud's leading dimensions, against numpy's eigenvectors of the explicit matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from corp.errors import NoSignal
from corp.operators import OPERATORS, OperatorSettings
from corp.operators.cloud import Cloud
from corp.operators.spectrum import project_mean
from tests.corp.operators.populations import (
    around_a_cloud,
    cloud_by_hand,
    population,
    vector,
    verdicts,
    with_rewards,
)


def projected_by_hand(weights, points, rank):
    mean = weights @ points
    values, vectors = np.linalg.eigh(cloud_by_hand(weights, points))
    leading = vectors[:, np.argsort(-values, kind="stable")[:rank]]
    return leading @ (leading.T @ mean)


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(2, 25), st.integers(1, 30), st.integers(1, 25))
def test_single_seeds_equal_an_eigendecomposition(seed, members, rank, kinds):
    """Few kinds of weights give many equal eigenvalues, whose vectors are orthogonal to the mean."""
    rng = np.random.default_rng(seed)
    weights = rng.choice(rng.random(kinds) + 0.01, members)
    weights /= weights.sum()
    axes = rng.permutation(members + 2)[:members]
    points = csr_array(
        (rng.choice([1.0, 2.0, 4.0], members), axes, np.arange(members + 1)), shape=(members, members + 2)
    )
    cloud = Cloud(weights, points)
    expected = projected_by_hand(weights, points.toarray(), min(rank, members - 1))
    found = project_mean(cloud, min(rank, members - 1))
    np.testing.assert_allclose(found, expected, atol=1e-7 * cloud.norm)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 20), st.integers(1, 6))
def test_shared_seeds_equal_an_eigendecomposition(seed, members, rank):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(members))
    points = rng.normal(size=(members, 7))
    rank = min(rank, members - 1)  # beyond that, C has no direction
    found = project_mean(Cloud(weights, csr_array(points)), rank)
    np.testing.assert_allclose(found, projected_by_hand(weights, points, rank), atol=1e-7)


def test_a_weight_that_underflowed_takes_no_part():
    points = csr_array(np.diag([1.0, 2.0, 3.0, 1.0]))
    weights = np.array([0.5, 0.3, 0.2, 0.0])
    found = project_mean(Cloud(weights, points), 2)
    np.testing.assert_allclose(found, projected_by_hand(weights, points.toarray(), 2), atol=1e-9)
    assert found[3] == 0


@pytest.mark.parametrize("scores", [population(verdicts(60, 90, 4)), around_a_cloud(30)])
def test_proposals_are_projections_of_corps_means(scores):
    grid = OperatorSettings(q=(0.5,), beta=(5, 50), rank=3, min_elites=1)
    whole = {
        (s["q"], s["beta"]): vector(p.direction, scores) * p.norm
        for p in OPERATORS["corp"].propose(scores, grid)
        for s in p.why["settings"]
    }
    proposals = OPERATORS["top_r"].propose(scores, grid)
    assert proposals
    for proposal in proposals:
        assert proposal.scales == grid.scales
        assert proposal.direction.norm() == pytest.approx(1)
        for setting in proposal.why["settings"]:
            part = vector(proposal.direction, scores) * proposal.norm
            mean = whole[setting["q"], setting["beta"]]
            assert part @ mean == pytest.approx(part @ part)  # an orthogonal projection
            assert 0 < np.linalg.norm(part) < np.linalg.norm(mean)
            elsewhere = mean - part
            assert abs(elsewhere @ part) < 1e-9 * (mean @ mean)


def test_the_larger_the_rank_the_nearer_to_the_mean():
    scores = population(verdicts(40, 90, 6))
    cosines = []
    for rank in (1, 4, 12, 39):
        grid = OperatorSettings(q=(0.0,), beta=(50,), rank=rank, min_ess=1)
        (corp,) = OPERATORS["corp"].propose(scores, grid)
        (part,) = OPERATORS["top_r"].propose(scores, grid)
        cosines.append(vector(part.direction, scores) @ vector(corp.direction, scores))
    assert (np.diff(cosines) > 0).all()
    assert 0.98 < cosines[-1] < 1  # the last eigenvector is what the rank-one part took away


def test_equal_weights_have_no_leading_dimension():
    scores = population(with_rewards([0.1] * 10 + [0.5] * 10), (1e-3,))
    with pytest.raises(NoSignal, match=r"leading 8 dimensions .* raise consolidate\.rank"):
        OPERATORS["top_r"].propose(scores, OperatorSettings(q=(0.5,)))
