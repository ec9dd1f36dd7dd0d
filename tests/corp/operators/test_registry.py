"""What every operator promises, whichever it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from corp.errors import NoSignal, OperatorInvalid
from corp.operators import OPERATORS, OperatorSettings, PopulationScores, Proposal, operator
from corp.preflight import MERGES, WITHOUT_ELITES
from population.direction import Component, Direction, Law
from tests.corp.operators.populations import (
    SIGMAS,
    around_a_cloud,
    marked,
    permuted,
    population,
    vector,
    verdicts,
    with_rewards,
)

DOCS = Path(__file__).parents[3] / "docs/operators.md"
SETTINGS = OperatorSettings(q=(0.5, 0.7), beta=(5, 20), evaluations=12)
LINEAR = [name for name in OPERATORS if name not in MERGES]


def proposals(name: str, scores: PopulationScores, settings=SETTINGS) -> list[Proposal]:
    """Of any operator; the select split of an adaptive one rewards every prompt of every seed differently."""
    entry = OPERATORS[name]
    if not hasattr(entry, "search"):
        return entry.propose(scores, settings)

    def evaluate(directions: Sequence[Direction]) -> np.ndarray:
        taste = np.array([np.sin(seed) for seed in sorted(scores.seeds)])
        return np.array([vector(d, scores) @ taste / d.norm() for d in directions])

    return entry.search(scores, settings, evaluate)


@pytest.mark.parametrize("name", OPERATORS)
def test_directions_have_unit_length_and_why_is_json(name):
    scores = population(verdicts(48, 90, 1))
    found = proposals(name, scores)
    assert found
    assert len({p.direction.digest() for p in found}) == len(found)
    for proposal in found:
        assert proposal.name == name == OPERATORS[name].name
        assert proposal.norm > 0
        assert proposal.direction.law == scores.law
        assert json.loads(json.dumps(proposal.why, allow_nan=False)) == proposal.why
        if name in LINEAR:
            assert proposal.direction.norm() == pytest.approx(1)


@pytest.mark.parametrize("name", OPERATORS)
def test_equal_input_gives_equal_bytes(name):
    one, two = (proposals(name, population(verdicts(48, 90, 1))) for _ in range(2))
    assert [p.direction.to_json() for p in one] == [p.direction.to_json() for p in two]
    assert [(p.norm, p.scales, p.why) for p in one] == [(p.norm, p.scales, p.why) for p in two]


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_population_does_not_matter(name, seed):
    values = np.random.default_rng(seed).normal(size=(30, 40)) + np.linspace(0, 1, 30)[:, None]
    scores = population(values)
    order = np.random.default_rng(seed).permutation(30)
    ours, theirs = proposals(name, scores), proposals(name, permuted(scores, order))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(vector(one.direction, scores), vector(other.direction, scores), atol=1e-6)
        assert one.norm == pytest.approx(other.norm)


@pytest.mark.parametrize("name", LINEAR)
def test_the_unit_of_sigma_does_not_matter(name):
    scores = population(verdicts(40, 90, 2))
    larger = marked(
        scores.keys,
        tuple(
            Direction(tuple(Component(c.seed, 8 * c.amplitude) for c in member.components), member.law)
            for member in scores.perturbations
        ),
        8 * scores.sigmas,
        scores.values,
        scores.base,
    )
    for one, other in zip(proposals(name, scores), proposals(name, larger), strict=True):
        np.testing.assert_allclose(vector(one.direction, scores), vector(other.direction, scores), atol=1e-9)
        assert other.norm == pytest.approx(8 * one.norm)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_step_of_a_candidate_counts_as_its_amplitude(name):
    scores = population(verdicts(40, 90, 2))
    stepped = marked(
        scores.keys,
        tuple(
            Direction((Component(member.components[0].seed, 1.0),), member.law, sigma)
            for member, sigma in zip(scores.perturbations, scores.sigmas.tolist(), strict=True)
        ),
        scores.sigmas,
        scores.values,
        scores.base,
    )
    plain, other = proposals(name, scores), proposals(name, stepped)
    assert [p.direction.digest() for p in plain] == [p.direction.digest() for p in other]


@pytest.mark.parametrize("name", sorted(set(OPERATORS) - {"random_mean"}))
def test_equal_rewards_are_no_signal(name):
    scores = population(with_rewards([0.25] * 20))
    with pytest.raises(NoSignal, match=r"all 20 candidates have the same reward, 0\.25"):
        proposals(name, scores)


@pytest.mark.parametrize("name", sorted(set(LINEAR) - {"corp_paper_code"}))
def test_members_may_share_seeds(name):
    scores = around_a_cloud(30, m=120, seed=4)
    for proposal in proposals(name, scores):
        assert set(proposal.direction.coefficients()) <= set(scores.seeds)
        assert proposal.direction.norm() == pytest.approx(1)


@pytest.mark.parametrize("name", ["ties", "dare", "corp_paper_code"])
def test_those_that_need_single_seeds_say_so(name):
    with pytest.raises(OperatorInvalid, match="one seed"):
        proposals(name, around_a_cloud(30, m=120, seed=4))


@pytest.mark.parametrize("name", OPERATORS)
def test_one_sigma_is_enough(name):
    assert proposals(name, population(verdicts(40, 120, 3), (1e-3,)))


@pytest.mark.parametrize("name", OPERATORS)
def test_invalid_verdicts_are_left_out(name):
    values = verdicts(48, 120, 1, spread=1.0)
    values[np.random.default_rng(0).random(values.shape) < 0.1] = np.nan
    for proposal in proposals(name, population(values)):
        assert np.isfinite(proposal.norm)


@pytest.mark.parametrize("field", ["q", "beta", "scales", "radii"])
def test_settings_out_of_range_are_refused(field):
    bad = {"q": (1.0,), "beta": (0.0,), "scales": (-1.0,), "radii": (float("nan"),)}[field]
    with pytest.raises(ValueError, match=field):
        OperatorSettings(**{field: bad})
    with pytest.raises(ValueError, match=field):
        OperatorSettings(**{field: ()})


def test_operators_are_found_by_name():
    assert [operator(name).name for name in OPERATORS] == list(OPERATORS)
    with pytest.raises(OperatorInvalid, match=r"'soup'.*corp, corp_paper_code, reward_mean"):
        operator("soup")


def test_the_page_lists_every_operator_with_its_summary_and_the_settings_it_reads():
    page = DOCS.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    expected = [
        (name, entry.summary, ", ".join(f"`{field}`" for field in reads(entry)) or "–")
        for name, entry in OPERATORS.items()
    ]
    assert rows == expected
    for name in OPERATORS:
        assert re.search(rf"^## `{name}`$", page, re.MULTILINE), f"no section on {name}"


def reads(entry: object) -> list[str]:
    """The settings that an operator's docstring says it reads."""
    sentence = re.search(r"Reads (.+?)\.", " ".join((type(entry).__doc__ or "").split()))
    assert sentence, f"{type(entry).__name__} does not say what it reads"
    if sentence[1] == "nothing":
        return []
    fields = re.sub(r"\(.*?\)", "", sentence[1]).replace(" ", "").split(",")
    assert set(fields) <= set(OperatorSettings.model_fields), fields
    return fields


def test_laws_are_not_mixed():
    scores = population(verdicts(10, 20))
    tied = Direction((Component(7, SIGMAS[0]),), Law(scheme="tied"))
    with pytest.raises(OperatorInvalid, match="different laws"):
        marked(scores.keys, (tied, *scores.perturbations[1:]), scores.sigmas, scores.values, scores.base)


@pytest.mark.parametrize("name", OPERATORS)
def test_preflight_knows_which_operators_need_elites_and_which_make_merges(name):
    scores = population(verdicts(48, 90, 1))
    few = SETTINGS.model_copy(update={"min_elites": 49})
    if name in WITHOUT_ELITES:
        assert proposals(name, scores, few)
    else:
        with pytest.raises(OperatorInvalid, match="min_elites = 49"):
            proposals(name, scores, few)
    assert all((p.direction.merge is not None) == (name in MERGES) for p in proposals(name, scores))
