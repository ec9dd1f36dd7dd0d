"""ties and dare: which members, weights and steps they propose, and how long those steps really are."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from corp.errors import NoSignal, OperatorInvalid
from corp.operators import OPERATORS, OperatorSettings
from population.direction import Component, Direction, Law
from population.sums import TensorSum
from tests.corp.operators.populations import (
    ANY_SIZE,
    alpha_by_anova,
    around_a_cloud,
    floored,
    marked,
    population,
    quantile_elites,
    verdicts,
    with_rewards,
)

NAMES = ("ties", "dare")
SETTINGS = OperatorSettings(q=(0.5, 0.7), beta=(0.5, 50), min_ess=10, radii=(0.5, 1, 2), density=0.3)
SCORES = population(verdicts(80, 96, 1))


def displacement(direction: Direction, size: int = 300_000) -> np.ndarray:
    """step · sum over a tensor that the sketch has not seen."""
    sums = np.empty(size, np.float32)
    TensorSum(direction, "model.layers.0.mlp.up_proj.weight", (size,)).fill(sums)
    return direction.step * sums.astype(np.float64)


@pytest.mark.parametrize("name", NAMES)
def test_members_are_the_elites_weighed_by_shrunken_rewards_at_the_largest_beta(name):
    rewards = SCORES.values.mean(axis=1)
    pulled = rewards.mean() + alpha_by_anova(SCORES.values) * (rewards - rewards.mean())
    proposals = OPERATORS[name].propose(SCORES, SETTINGS)
    assert [p.why["settings"] for p in proposals] == [[{"q": q, "beta": 50}] for q in SETTINGS.q]
    for q, proposal in zip(SETTINGS.q, proposals, strict=True):
        elite = quantile_elites(rewards, q)
        assert [c.seed for c in proposal.direction.components] == [1000 + i for i in elite]
        amplitudes = [c.amplitude * proposal.norm for c in proposal.direction.components]
        np.testing.assert_allclose(amplitudes, SCORES.sigmas[elite], rtol=1e-12)
        merge = proposal.direction.merge
        assert (merge.kind, merge.density, merge.normalize) == (name, 0.3, True)
        papers = {"ties": ("paper", None), "dare": (None, "inverse")}[name]
        assert (merge.sign_weighting, merge.rescale) == papers
        np.testing.assert_allclose(merge.weights, floored(50 * pulled[elite], 10), rtol=1e-6)
        assert proposal.why["ess"] == pytest.approx(10)
        assert proposal.why["elites"] == len(elite)


@pytest.mark.parametrize("name", NAMES)
def test_rewards_are_shrunken_where_the_floor_does_not_decide(name):
    rewards = SCORES.values.mean(axis=1)
    alpha = alpha_by_anova(SCORES.values)
    assert 0.1 < alpha < 0.95
    settings = SETTINGS.model_copy(update={"beta": (20.0,), "min_ess": 1.0, "q": (0.5,)})
    (proposal,) = OPERATORS[name].propose(SCORES, settings)
    logits = 20 * alpha * rewards[quantile_elites(rewards, 0.5)]
    expected = np.exp(logits - logits.max())
    np.testing.assert_allclose(proposal.direction.merge.weights, expected / expected.sum(), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", [Law(), Law(scheme="tied")])
def test_a_step_moves_weights_by_scale_times_norm(name, law):
    moved = tuple(Direction(member.components, law) for member in SCORES.perturbations)
    scores = marked(SCORES.keys, moved, SCORES.sigmas, SCORES.values, SCORES.base)
    radius = math.sqrt(np.mean(SCORES.sigmas**2))
    for proposal in OPERATORS[name].propose(scores, SETTINGS):
        assert proposal.direction.step == 1.0
        unit = displacement(proposal.direction)
        assert math.sqrt(np.mean(unit**2)) == pytest.approx(1, rel=0.01)
        lengths = [scale * proposal.norm for scale in proposal.scales]
        assert lengths == pytest.approx(sorted([0.5 * radius, radius, 2 * radius, proposal.norm]))
        step = proposal.direction * lengths[0]
        np.testing.assert_allclose(displacement(step), lengths[0] * unit)


@pytest.mark.parametrize("name", NAMES)
def test_scale_one_is_the_rule_on_the_members_as_they_were_scored(name):
    proposal = OPERATORS[name].propose(SCORES, SETTINGS)[0]
    seeds = {c.seed for c in proposal.direction.components}
    sigmas = [(1000 + i, s) for i, s in enumerate(SCORES.sigmas.tolist()) if 1000 + i in seeds]
    plain = Direction(tuple(Component(*pair) for pair in sigmas), SCORES.law, 1.0, proposal.direction.merge)
    assert 1.0 in proposal.scales
    expected = displacement(plain)
    found = displacement(proposal.direction * proposal.norm)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_trimmed_and_dropped_shares_are_the_density():
    (ties,) = OPERATORS["ties"].propose(SCORES, SETTINGS.model_copy(update={"q": (0.9,)}))
    (dare,) = OPERATORS["dare"].propose(SCORES, SETTINGS.model_copy(update={"q": (0.9,)}))
    members = len(dare.direction.components)
    untouched = 0.7**members
    for proposal in (ties, dare):
        assert np.mean(displacement(proposal.direction) == 0) == pytest.approx(untouched, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_why_is_json_and_proposing_twice_gives_equal_directions(name):
    one, two = (OPERATORS[name].propose(SCORES, SETTINGS) for _ in range(2))
    assert [p.direction.digest() for p in one] == [p.direction.digest() for p in two]
    assert json.loads(json.dumps([p.why for p in one], allow_nan=False)) == [dict(p.why) for p in one]


@pytest.mark.parametrize("name", NAMES)
def test_members_that_are_combinations_or_share_a_seed_are_refused(name):
    with pytest.raises(OperatorInvalid, match="one seed each"):
        OPERATORS[name].propose(around_a_cloud(20), ANY_SIZE)
    twin = Direction((Component(1019, 2e-3),), SCORES.law)
    plain = population(with_rewards([0.5] * 18 + [0.9, 0.9]))
    shared = marked(
        plain.keys, (*plain.perturbations[:18], twin, twin), plain.sigmas, plain.values, plain.base
    )
    with pytest.raises(OperatorInvalid, match="share a seed"):
        OPERATORS[name].propose(shared, ANY_SIZE)


@pytest.mark.parametrize("name", NAMES)
def test_quantiles_with_too_few_elites_are_skipped_and_said_so(name):
    scores = population(with_rewards([0.1 * (i % 9) + 0.01 * (i // 9) for i in range(40)]))
    settings = OperatorSettings(q=(0.5, 0.9), min_elites=8)
    (proposal,) = OPERATORS[name].propose(scores, settings)
    assert proposal.why["skipped"] == [{"q": 0.9, "elites": 4}]
    with pytest.raises(OperatorInvalid, match="fewer than min_elites"):
        OPERATORS[name].propose(scores, OperatorSettings(q=(0.9,), min_elites=8))


@pytest.mark.parametrize("name", NAMES)
def test_equal_rewards_are_no_signal(name):
    with pytest.raises(NoSignal):
        OPERATORS[name].propose(population(with_rewards([0.25] * 20)), ANY_SIZE)
