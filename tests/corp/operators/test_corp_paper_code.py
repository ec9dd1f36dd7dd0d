"""The public code's stage 1 against its formulas in float64, on explicit vectors."""

from __future__ import annotations

import numpy as np
import pytest

from corp.errors import OperatorInvalid
from corp.operators import OPERATORS, OperatorSettings, PopulationScores
from population.direction import Component, Direction
from tests.corp.operators.populations import (
    BETAS,
    LAW,
    QS,
    SIGMAS,
    around_a_cloud,
    explicit,
    marked,
    population,
    stage1_by_hand,
    vector,
    verdicts,
    with_rewards,
)

OPERATOR = OPERATORS["corp_paper_code"]


def random_population(seed: int) -> PopulationScores:
    """Up to 80 members, some seeds drawn twice, sigmas drawn independently, as the public code draws them."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(4, 80)), int(rng.integers(20, 200))
    pairs = {(int(s), float(rng.choice(SIGMAS))) for s in rng.integers(0, 3 * n, n)}
    members = tuple(Direction((Component(*pair),), LAW) for pair in sorted(pairs, key=lambda p: rng.random()))
    values = verdicts(len(members), m, seed, spread=float(rng.choice([0.1, 1.0])))
    sigmas = np.array([member.components[0].amplitude for member in members])
    keys = tuple(map(str, range(len(members))))
    return marked(keys, members, sigmas, values, np.zeros(m))


def public_code(scores: PopulationScores, q: float, beta: float) -> np.ndarray:
    """The mean it steps along, in one dimension per seed: weights from one axis per (seed, sigma)."""
    assert all(member.step == 1 for member in scores.perturbations)
    pairs = [(m.components[0].seed, m.components[0].amplitude) for m in scores.perturbations]
    axes = sorted(set(pairs))
    apart = np.zeros((len(pairs), len(axes)))
    for i, pair in enumerate(pairs):
        apart[i, axes.index(pair)] = pair[1]
    elite, _, weights, _ = stage1_by_hand(scores.values.mean(axis=1), apart, q, beta)
    mean = np.zeros(len(axes))
    for w, i in zip(weights, elite, strict=True):
        mean[axes.index(pairs[i])] += w * pairs[i][1]
    seeds = sorted({seed for seed, _ in pairs})
    return np.array([sum(a for a, (seed, _) in zip(mean, axes, strict=True) if seed == s) for s in seeds])


@pytest.mark.parametrize("block", range(10))
def test_it_equals_the_public_formulas_on_200_random_populations(block):
    for seed in range(20 * block, 20 * block + 20):
        scores = random_population(seed)
        settings = OperatorSettings(q=QS, beta=(BETAS[seed % 7], BETAS[(seed // 7) % 7 - 1]))
        seen = set()
        for proposal in OPERATOR.propose(scores, settings):
            found = proposal.norm * vector(proposal.direction, scores)
            for setting in proposal.why["settings"]:
                mean = public_code(scores, **setting)
                np.testing.assert_allclose(found, mean, rtol=1e-10, atol=1e-10 * np.linalg.norm(mean))
                seen.add((setting["q"], setting["beta"]))
        assert seen == {(q, beta) for q in QS for beta in settings.beta}


def test_some_of_those_populations_share_seeds_between_sigmas():
    def twice(scores):
        return len(explicit(scores)[0]) < len(scores.keys)

    assert sum(twice(random_population(seed)) for seed in range(200)) > 100


def test_one_seed_at_two_sigmas_is_two_axes_unlike_in_corp():
    plain = population(with_rewards([0.1, 0.6, 0.7, 0.2, 0.65]))
    parts = [(5, 1e-3), (9, 1e-3), (9, 2e-3), (6, 1e-3), (7, 1e-3)]
    members = tuple(Direction((Component(*part),), LAW) for part in parts)
    scores = marked(plain.keys, members, np.array([p[1] for p in parts]), plain.values, plain.base)
    settings = OperatorSettings(q=(0.5,), beta=(5,), min_ess=1, min_elites=1)
    (paper,) = OPERATOR.propose(scores, settings)
    (ours,) = OPERATORS["corp"].propose(scores, settings)
    mean = public_code(scores, 0.5, 5)
    np.testing.assert_allclose(paper.norm * vector(paper.direction, scores), mean, rtol=1e-10)
    assert abs(ours.direction.coefficients()[7] - paper.direction.coefficients()[7]) > 1e-3


def test_its_best_step_goes_on_even_below_the_base_and_few_elites_do_not_stop_it():
    scores = population(with_rewards([0.1, 0.6, 0.7, 0.2]))
    proposals = OPERATOR.propose(scores, OperatorSettings())
    assert proposals
    assert not any(proposal.must_beat_base for proposal in proposals)
    assert all(proposal.scales == OperatorSettings().scales for proposal in proposals)


def test_rewards_are_neither_shrunken_nor_is_there_a_floor():
    values = verdicts(100, 40, 2, spread=0.1)
    (proposal,) = OPERATOR.propose(population(values), OperatorSettings(q=(0.5,), beta=(50,), min_ess=30))
    assert proposal.why["ess"] < 30


@pytest.mark.parametrize("amplitude", [-1e-3, None])
def test_members_that_the_public_code_never_samples_are_refused(amplitude):
    scores = around_a_cloud(12)
    if amplitude is not None:
        members = tuple(Direction((Component(i, amplitude),), LAW) for i in range(12))
        scores = marked(scores.keys, members, scores.sigmas, scores.values, scores.base)
    with pytest.raises(OperatorInvalid, match=r"members of one seed and a positive sigma .* use corp"):
        OPERATOR.propose(scores, OperatorSettings())
