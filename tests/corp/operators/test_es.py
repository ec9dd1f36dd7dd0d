"""The expected gradient: against a derivation with scipy, and on landscapes whose gradient is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from corp.errors import NoSignal
from corp.operators import OPERATORS, OperatorSettings, PopulationScores
from corp.operators.slopes import slopes
from tests.corp.operators.populations import (
    SIGMAS,
    alpha_by_anova,
    around_a_cloud,
    explicit,
    marked,
    permuted,
    population,
    vector,
    verdicts,
)

OPERATOR = OPERATORS["es"]
SETTINGS = OperatorSettings()


def slope_landscape(
    n: int = 120, m: int = 200, seed: int = 0, sigmas=SIGMAS, noise: float = 1.0, dimension: int = 400
) -> tuple[PopulationScores, np.ndarray, np.ndarray]:
    """Graded rewards r_ij = 100 · sigma_i · ⟨gradient, z_i⟩ + prompt + scatter.

    Returns:
        The population, the noise z of its members (N, D) and the unit gradient (D,).
    """
    rng = np.random.default_rng(seed)
    sigma = np.resize(np.array(sigmas), n)
    noises = rng.normal(size=(n, dimension))
    gradient = rng.normal(size=dimension)
    gradient /= np.linalg.norm(gradient)
    truth = 100 * sigma * (noises @ gradient)
    values = truth[:, None] + rng.normal(size=(1, m)) + noise * rng.normal(size=(n, m))
    return population(values, sigmas), noises, gradient


def cosine(scores, proposal, noises, gradient):
    """Of the real direction, the sum of noises, with the gradient."""
    real = vector(proposal.direction, scores) @ noises
    return float(real @ gradient / np.linalg.norm(real))


def expected_slopes(scores):
    """By item variances, scipy's F distribution and explicit loops."""
    found = np.zeros(len(scores.keys))
    for sigma in sorted(set(scores.sigmas.tolist())):
        rows = [i for i, s in enumerate(scores.sigmas) if s == sigma]
        values = scores.values[rows]
        n, m = values.shape
        alpha = alpha_by_anova(values)
        if alpha <= 0 or stats.f.sf(1 / (1 - alpha), n - 1, (n - 1) * (m - 1)) > 0.05:
            continue
        means = values.mean(axis=1)
        for i, reward in zip(rows, means, strict=True):
            found[i] = np.sqrt(alpha) * min(max((reward - means.mean()) / np.std(means), -3), 3)
    return found


def halved(weights):
    return np.array([w if w > 0 else w / 2 for w in weights])


@pytest.mark.parametrize("seed", range(6))
def test_the_direction_is_the_sum_of_slopes_times_unit_noise_the_bad_at_half(seed):
    scores = population(verdicts(90, 120, seed, spread=0.25))
    weights = expected_slopes(scores)
    np.testing.assert_allclose(slopes(scores), weights, rtol=1e-8, atol=1e-12)
    if not weights.any():
        pytest.skip("chance made no level significant")
    mean = halved(weights) @ (explicit(scores) / scores.sigmas[:, None])
    (proposal,) = OPERATOR.propose(scores, SETTINGS)
    np.testing.assert_allclose(vector(proposal.direction, scores), mean / np.linalg.norm(mean), atol=1e-9)
    assert proposal.norm == pytest.approx(np.sqrt(np.mean(scores.sigmas**2)))
    assert proposal.scales == SETTINGS.radii
    assert proposal.must_beat_base


def test_it_points_along_a_planted_gradient_more_than_the_elites_mean_does():
    ours, theirs = [], []
    for seed in range(12):
        scores, noises, gradient = slope_landscape(seed=seed)
        (proposal,) = OPERATOR.propose(scores, SETTINGS)
        ours.append(cosine(scores, proposal, noises, gradient))
        grid = SETTINGS.model_copy(update={"q": (0.5, 0.7, 0.9)})
        theirs.append(
            max(
                cosine(scores, p, noises, gradient)
                for name in ("elite_mean", "reward_mean")
                for p in OPERATORS[name].propose(scores, grid)
            )
        )
    assert all(one > other for one, other in zip(ours, theirs, strict=True))
    # N noises in D dimensions hold the gradient's part sqrt(N / (N + D)) at most.
    limit = np.sqrt(120 / (120 + 400))
    assert 0.7 * limit < np.mean(ours) < limit
    assert np.mean(ours) > 1.2 * np.mean(theirs)


def test_weighting_levels_by_reliability_beats_leaving_them_equal():
    gains = []
    for seed in range(12):
        scores, noises, gradient = slope_landscape(seed=seed, sigmas=(1e-5, 2e-3), noise=2.0)
        (proposal,) = OPERATOR.propose(scores, SETTINGS)
        z = np.zeros(len(scores.keys))
        for members in scores.levels.values():
            z[members] = stats.zscore(scores.rewards[members])
        equal = z @ noises
        gains.append(cosine(scores, proposal, noises, gradient) - equal @ gradient / np.linalg.norm(equal))
    assert np.mean(gains) > 0.05
    assert np.mean([gain > 0 for gain in gains]) > 0.9


def test_a_level_without_signal_gets_no_weight():
    zero = []
    for seed in range(60):
        scores, _, _ = slope_landscape(n=90, m=60, seed=seed, sigmas=(1e-9, 1e-3, 2e-3))
        weights = slopes(scores)
        zero.append(not weights[scores.levels[1e-9]].any())
        assert weights[scores.levels[2e-3]].all()
    # The test of each level errs once in twenty.
    assert np.mean(zero) > 0.85


def test_what_the_levels_contribute_is_on_record():
    scores, _, _ = slope_landscape(n=91)
    (proposal,) = OPERATOR.propose(scores, SETTINGS)
    levels = proposal.why["levels"]
    assert [level["sigma"] for level in levels] == sorted(SIGMAS)
    assert [level["members"] for level in levels] == [31, 30, 30]
    for level in levels:
        rows = scores.values[scores.sigmas == level["sigma"]]
        assert level["reliability"] == pytest.approx(alpha_by_anova(rows))


def test_one_sigma_is_enough():
    scores, noises, gradient = slope_landscape(n=60, sigmas=(1e-3,))
    (proposal,) = OPERATOR.propose(scores, SETTINGS)
    # sqrt(60 / 460) for noises in 400 dimensions, times sqrt(reliability) = 0.76.
    assert cosine(scores, proposal, noises, gradient) == pytest.approx(0.36 * 0.76, abs=0.08)


def test_bad_members_count_against():
    scores, noises, _ = slope_landscape(n=60, sigmas=(1e-3,), noise=0.1)
    (proposal,) = OPERATOR.propose(scores, SETTINGS)
    amplitudes = vector(proposal.direction, scores)
    assert (np.sign(amplitudes) == np.sign(scores.rewards - scores.rewards.mean())).all()
    assert noises.shape[0] == 60


def test_a_member_that_collapsed_does_not_outweigh_the_rest():
    scores, _, _ = slope_landscape(n=60, sigmas=(1e-3,))
    values = scores.values.copy()
    values[17] -= 100
    broken = marked(scores.keys, scores.perturbations, scores.sigmas, values, scores.base)
    amplitudes = slopes(broken)
    assert abs(amplitudes[17]) == pytest.approx(3 * np.sqrt(alpha_by_anova(values)))


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_chance_alone_is_no_signal(seed):
    scores = population(verdicts(60, 50, seed, spread=0.0))
    assert not expected_slopes(scores).any()
    with pytest.raises(
        NoSignal, match=r"no sigma .* on 50 prompts differ by more than chance – use more prompts"
    ):
        OPERATOR.propose(scores, SETTINGS)


def test_levels_of_one_member_each_are_no_signal():
    scores = population(verdicts(12, 50, 1), tuple(1e-3 * (1 + np.arange(12))))
    with pytest.raises(NoSignal, match="more candidates per sigma"):
        OPERATOR.propose(scores, SETTINGS)


def test_members_with_shared_seeds_add_up_along_them():
    scores = around_a_cloud(40, m=100, seed=2)
    weights = expected_slopes(scores)
    mean = halved(weights) @ explicit(scores)
    (proposal,) = OPERATOR.propose(scores, SETTINGS)
    np.testing.assert_allclose(vector(proposal.direction, scores), mean / np.linalg.norm(mean), atol=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_order_units_and_scale_do_not_matter(seed, random):
    scores, _, _ = slope_landscape(n=36, m=40, seed=seed, noise=0.1)
    order = list(range(36))
    random.shuffle(order)
    (one,) = OPERATOR.propose(scores, SETTINGS)
    (other,) = OPERATOR.propose(permuted(scores, order), SETTINGS)
    assert other.direction.coefficients() == pytest.approx(one.direction.coefficients(), abs=1e-9)
    doubled = marked(
        scores.keys,
        tuple(member * 2.0 for member in scores.perturbations),
        scores.sigmas * 2,
        scores.values * 3 + 1,
        scores.base,
    )
    (scaled,) = OPERATOR.propose(doubled, SETTINGS)
    assert scaled.direction.coefficients() == pytest.approx(one.direction.coefficients(), abs=1e-9)
    assert scaled.norm == pytest.approx(2 * one.norm)
