"""Votes against a count by enumeration."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corp.ensemble import Election, ballots, elect, outcome
from population.table import Table
from verify import verifier


def counted(answers: list[str | None]) -> Election:
    """By sorting every (votes, first supporter) pair, instead of by insertion order."""
    ranking = sorted(
        (-answers.count(answer), answers.index(answer), answer) for answer in set(answers) - {None}
    )
    if not ranking:
        return Election(0, None, 0, 0)
    votes, first, answer = ranking[0]
    return Election(first, answer, -votes, sum(answer is not None for answer in answers))


@pytest.mark.parametrize("members", [1, 2, 3, 4, 5])
def test_every_vote_of_up_to_five_members_is_counted_right(members: int) -> None:
    for answers in product(["a", "b", "c", None], repeat=members):
        assert elect(list(answers)) == counted(list(answers)), answers


@given(st.lists(st.sampled_from(["1", "2", "3", "", None]), min_size=1, max_size=40))
def test_larger_votes_are_counted_right(answers: list[str | None]) -> None:
    assert elect(answers) == counted(answers)


def test_a_tie_goes_to_the_better_ranked_member_and_abstentions_do_not_count() -> None:
    assert elect(["a", "b", "b", "a"]) == Election(0, "a", 2, 4)
    assert elect([None, "b", "a", "a", "b"]) == Election(1, "b", 2, 4)
    assert elect([None, None, None, "a"]) == Election(3, "a", 1, 1)
    assert elect([None, None]) == Election(0, None, 0, 0)


def test_one_member_is_that_member() -> None:
    assert elect(["a"]).winner == elect([None]).winner == 0


def test_no_members_and_missing_completions_are_refused() -> None:
    with pytest.raises(ValueError, match="without members"):
        elect([])
    with pytest.raises(ValueError, match="every prompt once"):
        ballots(verifier("exact"), [{}, {}], [["a", "b"], ["a"]])


def test_ballots_hold_answers_in_one_spelling_per_prompt() -> None:
    items = [{"answer": 18}, {"answer": 3}]
    texts = [["18", "none"], ["it is 18.0", "3"], ["#", "6/2"]]
    assert ballots(verifier("numeric"), items, texts) == [["18", "18", None], [None, "3", "3"]]


def test_the_outcome_is_the_verdict_on_the_winner() -> None:
    values = np.array([[0.1, 0.2, 0.3], [1.1, 1.2, 1.3]])
    valid = np.array([[True, True, False], [True, False, True]])
    success = np.array([[False, True, False], [False, False, True]])  # not what the values say
    table = Table(("a", "b"), np.zeros(2), values, valid, success)
    elections = [Election(1, "x", 1, 2), Election(0, "x", 1, 2), Election(0, None, 0, 0)]
    found = outcome(table, elections)
    assert found[0].tolist() == [False, True, False]
    assert found[1].tolist() == [True, True, False]


def test_a_vote_over_texts_has_the_score_of_its_verdicts() -> None:
    """End to end on random texts: the outcome equals the verifier run on the winning completions."""
    rng = np.random.default_rng(0)
    judge = verifier("numeric")
    items = [{"answer": int(rng.integers(3))} for _ in range(60)]
    texts = [[str(rng.choice(["0", "1", "2.0", "2", "x"])) for _ in items] for _ in range(7)]
    verdicts = [[judge(item, text).value for item, text in zip(items, row, strict=True)] for row in texts]
    values = np.array(verdicts)
    table = Table(tuple("abcdefg"), np.zeros(7), values, np.ones((7, 60), np.bool_), values == 1)
    elections = [elect(answers) for answers in ballots(judge, items, texts)]
    winning = [
        judge(item, texts[e.winner][m]).value
        for m, (item, e) in enumerate(zip(items, elections, strict=True))
    ]
    assert outcome(table, elections)[0].tolist() == winning


def test_a_million_ballots_take_no_more_than_a_multiple_of_counting_them() -> None:
    """K = 200 members, M = 5,000 prompts: within 40 passes over the same answers."""
    rng = np.random.default_rng(1)
    answers = [[str(value) for value in row] for row in rng.integers(0, 9, (5_000, 200))]
    begun = time.process_time()
    for row in answers:
        for answer in row:
            hash(answer)
    unit = time.process_time() - begun
    begun = time.process_time()
    elections = [elect(row) for row in answers]
    assert len(elections) == 5_000
    assert time.process_time() - begun < 40 * unit
