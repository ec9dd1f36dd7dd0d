"""Random merges, label sets and rows of the controls, without a model."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corp.controls import Outcomes, calibrated, closed_labels, random_merge, ranking, row
from corp.gate import decide
from population.direction import Component, Direction, Law, cosine
from population.merge import Merge
from population.proposal import Candidate, candidate_seed, isotropic
from verify import verifier

LAW = Law(scope="no-norms")
POPULATION = isotropic(12, (0.01, 0.02), 3, LAW)
SEEDS = [candidate.direction.components[0].seed for candidate in POPULATION if candidate.direction]


def chosen(amplitudes: list[float], step: float = 0.5, merge: Merge | None = None) -> Candidate:
    components = tuple(Component(SEEDS[i], a) for i, a in enumerate(amplitudes))
    return Candidate("chosen", Direction(components, LAW, step, merge), 0.03)


@given(st.lists(st.floats(-1, 1).filter(lambda a: abs(a) > 1e-3), min_size=1, max_size=12), st.integers(0, 9))
def test_a_random_merge_has_the_chosen_amplitudes_and_length(amplitudes: list[float], number: int) -> None:
    found = random_merge(chosen(amplitudes), POPULATION, 3, number).direction
    assert found is not None
    assert found.norm() == pytest.approx(0.5 * np.linalg.norm(amplitudes), rel=1e-12)
    assert Counter(c.amplitude for c in found.components) == Counter(amplitudes)
    order = [SEEDS.index(component.seed) for component in found.components]  # all of them members
    assert order == sorted(order)
    assert found.law == LAW


def test_deals_differ_by_number_and_repeat_by_number() -> None:
    one = chosen([1.0, 2.0, 3.0, 4.0])
    digests = [random_merge(one, POPULATION, 3, n).direction.digest() for n in (0, 1, 2, 0)]  # type: ignore[union-attr]
    assert digests[0] == digests[3]
    assert len(set(digests)) == 3
    keys = {random_merge(one, POPULATION, 3, n).key for n in range(20)}
    assert len(keys) == 20


def test_deals_do_not_lean_towards_the_chosen_direction() -> None:
    """Over many deals the mean cosine is that of random pairings: (sum a)^2 / (N * sum a^2)."""
    amplitudes = [3.0, -1.0, 2.0]
    one = chosen(amplitudes)
    assert one.direction
    cosines = [cosine(one.direction, random_merge(one, POPULATION, 3, n).direction) for n in range(2000)]  # type: ignore[arg-type]
    expected = sum(amplitudes) ** 2 / (len(POPULATION) * np.square(amplitudes).sum())
    assert np.mean(cosines) == pytest.approx(expected, abs=4 * np.std(cosines) / np.sqrt(len(cosines)))


def test_a_direction_larger_than_the_population_takes_the_seeds_that_come_next() -> None:
    found = random_merge(chosen([1.0] * 12), POPULATION[:5], 3, 0).direction
    assert found is not None
    assert {c.seed for c in found.components} == {candidate_seed(3, index) for index in range(12)}


def test_no_seed_is_dealt_twice_where_the_search_dropped_members() -> None:
    left = [*POPULATION[:2], *POPULATION[3:6]]
    found = random_merge(chosen([1.0] * 12), left, 3, 0).direction
    assert found is not None
    assert {c.seed for c in found.components} == set(SEEDS[:2] + SEEDS[3:]) | {candidate_seed(3, 12)}


def test_a_merge_rule_is_replaced_by_a_plain_mean_of_its_length() -> None:
    ties = Merge("ties", 0.5, (1.0, 1.0), "paper")
    found = random_merge(chosen([0.01, 0.02], merge=ties), POPULATION, 3, 1).direction
    assert found is not None
    assert found.merge is None
    assert found.norm() == pytest.approx(0.03, rel=1e-12)


def test_ranks_are_by_reward_and_the_earlier_of_equals_comes_first() -> None:
    assert ranking([0.5, 0.7, 0.7, 0.1], 3) == [1, 2, 0]
    assert ranking([0.5], 8) == [0]


def test_a_row_counts_the_prompts_that_both_were_judged_on() -> None:
    base = Outcomes(np.array([0, 1, 0, 1, 0], bool), np.array([1, 1, 1, 1, 0], bool))
    found = Outcomes(np.array([1, 0, 1, 0, 1], bool), np.array([1, 1, 1, 0, 1], bool))
    line = row("vote-4", base, found, passes=4, tokens=12.5)
    expected = decide([0, 1, 0], [1, 0, 1])
    assert line == {
        "name": "vote-4",
        "n": 3,
        "score": pytest.approx(2 / 3),
        "base": pytest.approx(1 / 3),
        "difference": pytest.approx(1 / 3),
        "interval": list(expected.interval),
        "p_value": 1.0,
        "fixes": 2,
        "regressions": 1,
        "passes": 4,
        "tokens": 12.5,
    }
    assert row("none", base, Outcomes(found.success, ~base.valid)) is None


def test_closed_tasks_have_few_answers_that_repeat() -> None:
    exact = verifier("exact")
    rows = [{"answer": ("positive", "negative")[n % 2]} for n in range(40)]
    assert closed_labels(exact, rows) == (["negative", "positive"], "")
    assert closed_labels(exact, [{"answer": str(n)} for n in range(40)])[1].startswith("40 distinct")
    assert "no set of labels" in closed_labels(exact, [{"answer": str(n)} for n in range(10)])[1]
    assert "no set of labels" in closed_labels(exact, rows[:1] * 9)[1]
    assert "do not all hold" in closed_labels(verifier("random"), rows)[1]
    assert "do not all hold" in closed_labels(exact, [*rows, {"other": 1}])[1]
    choices = [{"choices": ["a", "b", "c"], "answer": n % 3} for n in range(30)]
    assert closed_labels(verifier("choice"), choices) == (["A", "B", "C"], "")


def test_twenty_labels_are_closed_and_twenty_one_are_not() -> None:
    rows = [{"answer": str(n % 21)} for n in range(210)]
    assert closed_labels(verifier("exact"), rows)[0] == []
    assert len(closed_labels(verifier("exact"), [r for r in rows if r["answer"] != "20"])[0]) == 20


def test_calibration_takes_off_what_makes_a_label_likely_everywhere() -> None:
    rng = np.random.default_rng(0)
    support, test = rng.normal(size=(3, 50)), rng.normal(size=(3, 40))
    support[1] += 5  # a label that the model likes whatever it is asked
    test[1] += 5
    found = calibrated(test, support)
    for prompt in range(40):
        scores = [test[label, prompt] - sum(support[label]) / 50 for label in range(3)]
        assert found[prompt] == scores.index(max(scores))
    assert set(found.tolist()) == {0, 1, 2}
    assert np.argmax(test, axis=0).tolist().count(1) > 35
