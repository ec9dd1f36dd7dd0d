"""Fixes, told apart from answers that only became readable."""

from __future__ import annotations

import numpy as np
import pytest

from corp.diagnostics.composition import classified, composition, kind
from verify import verifier

NUMBER = {"question": "17 + 4", "answer": "21"}


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        ("22", False, True, "reasoning_fix"),
        ("It is 21, I think, or 22", False, True, "format_fix"),
        ("The answer: 21.", False, True, "format_fix"),
        ("121 or 210", False, True, "reasoning_fix"),  # digits inside other numbers are no answer
        ("", False, True, "reasoning_fix"),
        ("21", True, False, "regression"),
        ("21", True, True, "unchanged"),
        ("22", False, False, "unchanged"),
    ],
)
def test_a_fix_is_of_the_format_where_the_base_had_the_answer(
    text: str, before: bool, after: bool, expected: str
) -> None:
    assert kind(verifier("exact"), NUMBER, text, before, after) == expected


def test_the_verifiers_own_reading_counts() -> None:
    """021.0 is 21 to a numeric verifier that reads it, however it is spelt."""
    assert kind(verifier("numeric"), NUMBER, "it makes 021.0", False, True) == "format_fix"


def test_the_answer_may_stand_in_another_case() -> None:
    item = {"question": "capital of France", "answer": "Paris"}
    assert kind(verifier("exact"), item, "I think PARIS.", False, True) == "format_fix"


def test_a_task_without_stated_answers_leaves_it_open() -> None:
    item = {"question": "say something with an e", "pattern": "e"}
    assert kind(verifier("regex"), item, "no", False, True) == "unclear_fix"


def test_counts_add_up_and_invalid_verdicts_are_left_out() -> None:
    texts = ["22", "it is 21", "21", "21", "?"]
    before = np.array([False, False, True, True, False])
    after = np.array([True, True, False, True, True])
    both = np.array([True, True, True, True, False])
    kinds = classified(verifier("exact"), [NUMBER] * 5, texts, before, after, both)
    assert kinds == ["reasoning_fix", "format_fix", "regression", "unchanged", None]
    found = composition(kinds)
    assert found.n == 4
    parts = (found.reasoning_fix, found.format_fix, found.unclear_fix, found.regression, found.unchanged)
    assert sum(parts) == found.n
