"""What needs no reasoning-gym; tests/oracles/test_reasoning_gym.py runs the library."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify import verifier
from verify.adapters.gym import LISTED, configured, rows, stated
from verify.errors import ExtraMissing, TaskInvalid
from verify.task import parse_task


@pytest.mark.parametrize(
    ("completion", "answer"),
    [
        ("42", "42"),
        (" 42\n", "42"),
        ("42.", "42"),
        ("The answer is 42.", "42"),
        ("Answer: 42", "42"),
        ("**Answer:** 42", "42"),
        ("12 + 30 = 42", "42"),
        ("x = 5", "5"),
        ("I think.\n<answer>\n7\n</answer> and 8", "7"),
        ("<answer>1</answer><answer>2</answer>", "2"),
        ("The answer is 1. No, the answer is 2.", "2"),
        ("The answer is 3\nThanks!", "3"),
        ("one line\nanother", "another"),
        ('"nus"', "nus"),
        ("-4.5", "-4.5"),
        ("</answer>9", "</answer>9"),
        ("", ""),
        (" \n", ""),
        ("the answer is", ""),
    ],
)
def test_the_answer_is_found_without_its_wrapping(completion: str, answer: str) -> None:
    assert stated(completion) == answer


@given(st.text(max_size=200))
def test_reading_an_answer_never_fails_and_settles(text: str) -> None:
    assert stated(stated(text)) == stated(stated(stated(text)))
    assert "=" not in stated(text)


def test_long_texts_are_read_in_no_time() -> None:
    for text in ("<answer>" * 100_000, "answer is " * 100_000, "</answer>" * 100_000, "\n" * 1_000_000):
        stated(text)


@pytest.mark.parametrize(
    "task", ["game_of_life_halting", "coin_flip", "circuit_logic", "polynomial_equations"]
)
def test_tasks_with_broken_scorers_are_refused(task: str) -> None:
    with pytest.raises(ValueError, match="not on the list"):
        configured(task, {})


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"max_terms": 7}, "from 1 to 6"), ({"max_terms": True}, "max_terms"), ({"size": 3}, "not size")],
)
def test_only_what_is_safe_can_be_changed(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        configured("chain_sum", changes)
    assert configured("chain_sum", {"max_terms": 6})["max_terms"] == 6


def test_a_task_names_what_is_wrong_with_its_gym_data() -> None:
    spec = {
        "name": "gym",
        "data": {"gym": "coin_flip"},
        "prompt": {"user": "{question}"},
        "verifier": {"kind": "exact"},
        "splits": {"support": 1, "select": 1, "gate": 30, "test": 1},
    }
    with pytest.raises(TaskInvalid, match="'coin_flip' is not on the list of gym tasks"):
        parse_task(spec)
    for task in LISTED:
        assert parse_task({**spec, "data": {"gym": task, "seed": 2}}).data is not None


@pytest.mark.skipif(find_spec("reasoning_gym") is not None, reason="reasoning-gym is installed")
def test_without_the_library_the_extra_is_named() -> None:
    with pytest.raises(ExtraMissing, match=r"corp-posttrain\[gym\]"):
        verifier("gym")
    with pytest.raises(ExtraMissing, match="reasoning-gym"):
        next(rows("gcd", {}, 0, 1))
