"""Response weights: no other weights do better, and populations made to show one thing each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from corp.errors import NoSignal
from corp.operators import OPERATORS, OperatorSettings, PopulationScores
from corp.operators.reliability import effective_size
from corp.operators.response import response_weights
from corp.operators.slopes import slopes
from tests.corp.operators.populations import (
    SIGMAS,
    around_a_cloud,
    explicit,
    floored,
    marked,
    population,
    quantile_elites,
    vector,
    verdicts,
)

OPERATOR = OPERATORS["response"]


def answers(n: int = 60, m: int = 80, seed: int = 0) -> PopulationScores:
    """A base that is right on half of the prompts and members that fix and break some."""
    values = verdicts(n, m, seed, spread=0.7)
    base = (np.random.default_rng(seed + 1).random(m) < 0.5).astype(float)
    return population(values, base=base)


def objective(logits, scores, elite, beta, regress_weight, redundancy):
    """beta rho F(w) - KL(w | prior), prompt by prompt."""
    weights = softmax(logits)
    wrong = scores.base == 0
    fixed = weights @ (scores.values[elite] * wrong)
    broken = weights @ ((1 - scores.values[elite]) * ~wrong)
    F = np.mean((1 - np.exp(-redundancy * fixed)) / redundancy - regress_weight * broken)
    prior = log_softmax(beta * scores.shrunken[elite])
    return beta * scores.reliability * F - weights @ (log_softmax(logits) - prior)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 5.0, 50.0]), st.sampled_from([0.0, 1.0, 3.0]))
def test_no_change_of_the_weights_does_better(seed, beta, regress_weight):
    scores = answers(seed=seed)
    elite = np.arange(0, 60, 2)
    settings = OperatorSettings(min_ess=1, regress_weight=regress_weight)
    found = np.log(response_weights(scores, elite, beta, settings))
    args = (scores, elite, beta, regress_weight, 1.0)
    best = objective(found, *args)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 1.0):
        others = found + size * rng.normal(size=(40, len(found)))
        assert max(objective(other, *args) for other in others) <= best + 1e-9 * beta
    prior = beta * scores.shrunken[elite]
    assert objective(prior, *args) <= best + 1e-9 * beta


def test_the_floor_holds_for_the_steepest_temperature():
    scores = answers()
    for floor in (8, 12):
        settings = OperatorSettings(min_ess=floor)
        weights = response_weights(scores, np.arange(30), 1e4, settings)
        assert effective_size(weights) == pytest.approx(floor, rel=1e-6)


def crafted(fixes: list[list[int]], regressions: list[list[int]], m: int = 40) -> PopulationScores:
    """A base right on the second half of the prompts, and exactly these changes to it."""
    base = (np.arange(m) >= m // 2).astype(float)
    values = np.tile(base, (len(fixes), 1))
    for row, fixed, broken in zip(values, fixes, regressions, strict=True):
        row[fixed], row[broken] = 1, 0
    return population(values, (1e-3,), base)


def test_of_equal_rewards_the_fix_that_nobody_else_brings_weighs_more():
    """Nine members fix the same four prompts, one fixes four others; six do nothing."""
    scores = crafted([[0, 1, 2, 3]] * 9 + [[10, 11, 12, 13]] + [[]] * 6, [[]] * 16)
    weights = response_weights(scores, np.arange(10), 20, OperatorSettings(min_ess=4))
    assert scores.reliability > 0.3
    assert weights[9] > 1.15 * weights[:9].max()
    np.testing.assert_allclose(weights[:9], weights[0])


def test_of_equal_fixes_the_member_with_regressions_weighs_less_the_more_they_cost():
    scores = crafted([[0, 1, 2, 3, 4, 5]] * 8 + [[]] * 8, [[]] * 7 + [[30, 31]] + [[]] * 8)
    ratios = []
    for cost in (0.0, 1.0, 4.0):
        weights = response_weights(scores, np.arange(8), 20, OperatorSettings(min_ess=2, regress_weight=cost))
        ratios.append(weights[7] / weights[0])
    assert ratios[0] < 1  # its lower reward
    assert (np.diff(ratios) < 0).all()


def test_prompts_without_a_verdict_on_either_side_count_as_neither():
    scores = answers()
    values, base = scores.values.copy(), scores.base.copy()
    values[:, 3], base[7] = np.nan, np.nan
    holed = marked(scores.keys, scores.perturbations, scores.sigmas, values, base)
    assert not holed.fixes[:, [3, 7]].any()
    assert not holed.regressions[:, [3, 7]].any()
    assert np.isfinite(response_weights(holed, np.arange(20), 20, OperatorSettings())).all()


@pytest.mark.parametrize("scores", [answers(90, 100, 3), around_a_cloud(40)])
def test_proposals_are_weighted_unit_noises_of_the_steepest_members(scores):
    grid = OperatorSettings(q=(0.5,), beta=(1, 20))
    merit = slopes(scores)
    elite = np.array(quantile_elites(merit, 0.5))
    units = explicit(scores) / scores.sigmas[:, None]
    for proposal in OPERATOR.propose(scores, grid):
        assert proposal.scales == grid.radii
        assert proposal.norm == pytest.approx(np.sqrt(np.mean(scores.sigmas**2)))
        for setting in proposal.why["settings"]:
            mean = response_weights(scores, elite, setting["beta"], grid) @ units[elite]
            expected = mean / np.linalg.norm(mean)
            np.testing.assert_allclose(vector(proposal.direction, scores), expected, atol=1e-10)


def test_with_nothing_but_a_prior_it_is_the_floored_softmax_of_shrunken_rewards():
    """A base that is right everywhere leaves nothing to fix; regressions cost nothing."""
    scores = population(verdicts(40, 60, 2), base=np.ones(60))
    elite = np.arange(25)
    weights = response_weights(scores, elite, 20, OperatorSettings(regress_weight=0))
    np.testing.assert_allclose(weights, floored(20 * scores.shrunken[elite], 8), rtol=1e-6)


def test_chance_alone_is_no_signal():
    scores = population(verdicts(30, 60, 11, spread=0.0), (1e-3,))
    with pytest.raises(NoSignal, match="differ by more than chance"):
        OPERATOR.propose(scores, OperatorSettings())


def test_a_sigma_without_signal_provides_no_elites():
    values = verdicts(90, 100, 3, spread=1.0)
    values[::3] = np.random.default_rng(0).random((30, 100)) < 0.8  # good, and equally so
    scores = population(values)
    silent = scores.levels[SIGMAS[0]]
    assert not slopes(scores)[silent].any()
    for proposal in OPERATOR.propose(scores, OperatorSettings(beta=(5,))):
        assert not vector(proposal.direction, scores)[silent].any()
    assert set(np.argsort(-scores.rewards)[:10]) & set(silent.tolist())
