"""Stage 1's weights against a float64 re-derivation with explicit vectors, one dimension per seed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from corp.errors import OperatorInvalid
from corp.operators import corp_weights
from tests.corp.operators.populations import BETAS, QS, SIGMAS, cloud_by_hand, stage1_by_hand


def population(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rewards as means over 96 prompts, so that some tie, and sigmas in turn."""
    rng = np.random.default_rng(seed)
    return rng.binomial(96, 0.4, n) / 96, np.resize(SIGMAS, n)


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("beta", BETAS)
def test_weights_equal_the_rederivation(q, beta):
    rewards, sigmas = population(48)
    found = corp_weights(rewards, sigmas, q=q, beta=beta)
    elite, pass1, pass2, mean = stage1_by_hand(rewards, np.eye(48) * sigmas, q, beta)
    cloud = cloud_by_hand(pass2, (np.eye(48) * sigmas)[elite])
    assert found.elite.tolist() == elite
    np.testing.assert_allclose(found.pass1, pass1, rtol=1e-12)
    np.testing.assert_allclose(found.pass2, pass2, rtol=1e-9)
    np.testing.assert_allclose(found.direction, (mean / np.linalg.norm(mean))[elite], rtol=1e-9)
    assert found.norm == pytest.approx(np.linalg.norm(mean), rel=1e-9)
    assert found.second.trace == pytest.approx(np.trace(cloud), rel=1e-9)
    assert found.second.kappa == pytest.approx(np.linalg.norm(mean) ** 2 / np.trace(cloud), rel=1e-9)
    share = np.linalg.eigvalsh(cloud)
    share = share[share > 1e-15 * share.max()] / share.sum()
    assert found.second.effective_rank() == pytest.approx(np.exp(-np.sum(share * np.log(share))), rel=1e-6)
    assert found.second.ess == pytest.approx(1 / np.sum(pass2**2), rel=1e-9)


def test_members_with_one_seed_share_an_axis():
    """With an axis per (seed, sigma), one seed at two sigmas would look orthogonal to itself."""
    rewards, sigmas = population(12, seed=3)
    seeds = [7, 8, 9, 7, 11, 8, 13, 14, 7, 16, 17, 18]
    vectors = np.zeros((12, 19))
    vectors[np.arange(12), seeds] = sigmas
    for q, beta in ((0.0, 2), (0.5, 10)):
        found = corp_weights(rewards, sigmas, q=q, beta=beta, axes=seeds)
        elite, _, pass2, mean = stage1_by_hand(rewards, vectors, q, beta)
        np.testing.assert_allclose(found.pass2, pass2, rtol=1e-9)
        assert found.norm == pytest.approx(np.linalg.norm(mean), rel=1e-9)
        total = np.zeros(19)
        np.add.at(total, [seeds[i] for i in elite], found.direction)
        np.testing.assert_allclose(total, mean / np.linalg.norm(mean), rtol=1e-9, atol=1e-15)
    apart = corp_weights(rewards, sigmas, q=0.0, beta=2)
    together = corp_weights(rewards, sigmas, q=0.0, beta=2, axes=seeds)
    assert not np.allclose(apart.pass2, together.pass2)


def test_two_elites_of_equal_weight_and_unequal_sigma_have_equal_dispersion():
    """Equal in exact arithmetic; rounding alone would turn into z-scores of +-1."""
    for first, second in ((2e-3, 5e-4), (1e-3, 3e-3), (7e-4, 1.1e-3)):
        found = corp_weights([0.0, 0.5, 0.5], [1e-3, first, second], q=0.5, beta=5)
        sign = 1 if first > second else -1
        np.testing.assert_allclose(found.pass2, softmax([sign, -sign]), rtol=1e-9)


def test_ties_at_the_quantile_are_all_elites():
    found = corp_weights([0.3, 0.5, 0.5, 0.1, 0.5, 0.2], [1e-3] * 6, q=0.9, beta=1)
    assert found.elite.tolist() == [1, 2, 4]
    np.testing.assert_allclose(found.pass2, 1 / 3)


def test_a_single_elite_is_its_own_direction():
    found = corp_weights([0.3, 0.9, 0.5], [1e-3, 2e-3, 1e-3], q=0.9, beta=1)
    assert found.elite.tolist() == [1]
    assert found.direction.tolist() == [1.0]
    assert found.norm == pytest.approx(2e-3)
    assert math.isinf(found.second.kappa)
    assert found.second.effective_rank() == 0


members = st.lists(
    st.tuples(st.integers(0, 100).map(lambda k: k / 100), st.sampled_from(SIGMAS)), min_size=2, max_size=30
)
betas = st.sampled_from(BETAS)


@settings(max_examples=40)
@given(members, st.sampled_from([0.0, *QS]), betas)
def test_weights_sum_to_one_and_the_direction_has_length_one(rows, q, beta):
    found = corp_weights(*zip(*rows, strict=True), q=q, beta=beta)
    assert found.pass1.sum() == pytest.approx(1)
    assert found.pass2.sum() == pytest.approx(1)
    assert np.linalg.norm(found.direction) == pytest.approx(1)
    assert (found.direction >= 0).all()
    assert (np.diff(found.elite) > 0).all()
    assert 1 - 1e-9 <= found.second.ess <= len(found.elite) + 1e-9


@settings(max_examples=40)
@given(members, st.sampled_from([0.0, *QS]), betas, st.randoms(use_true_random=False))
def test_order_of_the_population_does_not_matter(rows, q, beta, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    one = corp_weights(*zip(*rows, strict=True), q=q, beta=beta)
    other = corp_weights(*zip(*(rows[i] for i in order), strict=True), q=q, beta=beta)
    by_member = dict(zip(one.elite.tolist(), one.direction, strict=True))
    assert sorted(order[i] for i in other.elite) == sorted(by_member)
    for i, amplitude in zip(other.elite, other.direction, strict=True):
        assert amplitude == pytest.approx(by_member[order[i]], rel=1e-6, abs=1e-12)


@settings(max_examples=40)
@given(members, st.sampled_from([0.0, *QS]), betas, st.integers(-8, 8))
def test_adding_to_every_reward_changes_nothing(rows, q, beta, shift):
    rewards, sigmas = zip(*rows, strict=True)
    # Sixteenths are exact in float64, so a tie at the quantile stays one.
    exact = np.round(np.array(rewards) * 16) / 16
    one = corp_weights(exact, sigmas, q=q, beta=beta)
    other = corp_weights(exact + shift, sigmas, q=q, beta=beta)
    assert one.elite.tolist() == other.elite.tolist()
    np.testing.assert_allclose(one.pass2, other.pass2, rtol=1e-6, atol=1e-12)


@settings(max_examples=40)
@given(members, betas, st.sampled_from([2.0, 0.25, 1024.0]))
def test_scaling_every_sigma_scales_the_norm_alone(rows, beta, factor):
    rewards, sigmas = zip(*rows, strict=True)
    one = corp_weights(rewards, sigmas, q=0.5, beta=beta)
    other = corp_weights(rewards, np.array(sigmas) * factor, q=0.5, beta=beta)
    np.testing.assert_allclose(one.direction, other.direction, rtol=1e-9, atol=1e-15)
    assert other.norm == pytest.approx(one.norm * factor)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rewards": [0.1, 0.2]}, "one reward and one sigma per member"),
        ({"rewards": [[0.1, 0.2, 0.3]]}, "one reward and one sigma per member"),
        ({"rewards": [0.1], "sigmas": [1e-3]}, "population of 1"),
        ({"rewards": [], "sigmas": []}, "population of 0"),
        ({"rewards": [0.1, math.nan, 0.2]}, "reward of member 1"),
        ({"rewards": [0.1, 0.3, math.inf]}, "reward of member 2"),
        ({"sigmas": [1e-3, 0.0, 1e-3]}, "sigma must be > 0"),
        ({"sigmas": [1e-3, -1e-3, 1e-3]}, "sigma must be > 0"),
        ({"sigmas": [1e-3, math.nan, 1e-3]}, "sigma must be > 0"),
        ({"q": 1.0}, "q = 1.0"),
        ({"q": -0.1}, "q = -0.1"),
        ({"q": math.nan}, "q = nan"),
        ({"beta": 0.0}, "beta = 0.0"),
        ({"beta": -1}, "beta = -1"),
        ({"beta": math.inf}, "beta = inf"),
        ({"axes": [1, 2]}, "2 axes for 3 members"),
    ],
)
def test_bad_input_is_refused(change, match):
    good = {"rewards": [0.1, 0.3, 0.2], "sigmas": [1e-3] * 3, "q": 0.5, "beta": 1.0}
    arguments = {**good, **change}
    with pytest.raises(OperatorInvalid, match=match):
        corp_weights(arguments.pop("rewards"), arguments.pop("sigmas"), **arguments)


@settings(max_examples=30)
@given(st.integers(2, 40), st.integers(0, 10**6))
def test_no_reward_order_is_lost_at_one_sigma(n, seed):
    """With one sigma a better elite never weighs less, in either pass."""
    rewards = np.random.default_rng(seed).integers(0, 97, n) / 96
    assume(rewards.max() > rewards.min())
    found = corp_weights(rewards, [1e-3] * n, q=0.5, beta=5)
    order = np.argsort(rewards[found.elite], kind="stable")
    for weights in (found.pass1, found.pass2):
        assert (np.diff(weights[order]) >= -1e-12).all()
