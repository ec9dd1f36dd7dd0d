"""The members of a direction, found again in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corp.diagnostics.concentration import concentration, drawn, member_weights
from corp.operators import OPERATORS, corp_weights
from population.direction import Component, Direction
from tests.corp.operators.populations import ANY_SIZE, LAW, around_a_cloud, population, verdicts


def test_a_weighted_mean_gives_back_its_weights() -> None:
    scores = population(verdicts(60))
    own = corp_weights(scores.rewards, scores.sigmas, q=0.5, beta=20)
    parts = zip(own.elite, own.pass2, strict=True)
    components = [Component(1000 + int(i), float(weight * scores.sigmas[i])) for i, weight in parts]
    found = concentration(scores, Direction(tuple(components), LAW, step=3.0))
    assert found.of == "chosen"
    assert found.members == len(own.elite)
    assert found.ess == pytest.approx(1 / np.sum(own.pass2**2))
    assert found.kappa == pytest.approx(own.second.kappa)
    assert [one.weight for one in found.weights] == pytest.approx(sorted(own.pass2, reverse=True)[:64])
    assert found.effective_rank == pytest.approx(own.second.effective_rank())


def test_a_negative_weight_is_a_mirrored_member() -> None:
    scores = population(verdicts(12))
    seeds = [member.components[0].seed for member in scores.perturbations]
    direction = Direction(
        (Component(seeds[2], 0.5 * scores.sigmas[2]), Component(seeds[7], -scores.sigmas[7])), LAW
    )
    found = concentration(scores, direction)
    assert [(one.key, one.weight) for one in found.weights] == [
        ("c00007", pytest.approx(-2 / 3)),
        ("c00002", pytest.approx(1 / 3)),
    ]
    assert found.alignment.low > 0  # the mean of the cloud is along the direction
    assert found.ess == pytest.approx(9 / 5)


def test_shares_of_the_spectrum_add_up_to_one() -> None:
    found = concentration(population(verdicts(40)), None)
    assert found.of == "elites"
    assert sum(found.spectrum) == pytest.approx(1)
    assert found.spectrum == sorted(found.spectrum, reverse=True)
    assert 1 <= found.effective_rank <= found.cloud


def test_a_direction_of_foreign_seeds_or_of_shared_ones_is_no_sum_of_members() -> None:
    scores = population(verdicts(12))
    assert member_weights(scores, Direction((Component(5, 1.0),), LAW)) is None
    cloud = around_a_cloud(12)
    assert member_weights(cloud, cloud.perturbations[0]) is None
    assert concentration(cloud, cloud.perturbations[0]).of == "elites"


def test_a_merge_carries_its_weights() -> None:
    scores = population(verdicts(40))
    (proposal, *_) = OPERATORS["ties"].propose(scores, ANY_SIZE)  # type: ignore[union-attr]
    merge = proposal.direction.merge
    assert merge is not None
    weights = member_weights(scores, proposal.direction)
    assert weights is not None
    assert np.flatnonzero(weights).size == np.count_nonzero(merge.weights)


def test_a_single_member_has_no_cloud() -> None:
    scores = population(verdicts(10))
    found = concentration(scores, replace(scores.perturbations[3], step=2.0))
    assert (found.members, found.ess, found.effective_rank, found.kappa) == (1, 1.0, 0.0, None)
    assert found.spectrum == []


def test_a_large_population_is_drawn_from_best_to_worst() -> None:
    scores = population(verdicts(300))
    shown = drawn(scores, None, most=50)
    rewards = [one.reward for one in shown]
    assert len(shown) == 50
    assert max(rewards) == scores.rewards.max()
    assert min(rewards) == scores.rewards.min()
