from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify import verifier

CITIES = ["Paris", "Rome", "Oslo", "Bern"]


@pytest.mark.parametrize("answer", ["B", "b", 1, "Rome"])
@pytest.mark.parametrize(
    "completion",
    [
        "B",
        "b",
        " B\n",
        "(B)",
        "[B]",
        "B.",
        "B)",
        "B:",
        "**B**",
        "Answer: B",
        "answer: (B).",
        "Answer: **B**",
        "The answer is B.",
        "The correct answer is (B)",
        "So the answer is: B",
        "Option B",
        "B) Rome",
        "(B) Rome.",
        "B. Rome",
        "Answer: B) Rome",
        "Answer: Rome",
        "Rome",
        "Rome.",
        "Italy's capital is old.\nAnswer: B",
        "B\nBecause Rome is in Italy.",
        "A) Paris\nB) Rome\nC) Oslo\nD) Bern\nAnswer: B",
    ],
)
def test_a_stated_choice_is_read(answer: object, completion: str) -> None:
    verdict = verifier("choice")({"choices": CITIES, "answer": answer}, completion)
    assert (verdict.value, verdict.valid, verdict.components) == (1, True, {"format": 1})


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "Because of the order, A dog came",  # a letter hunt reads B, E, C, A, E out of this
        "A dog came",
        "B is not right",
        "Rome is nice",
        "I think B",
        "not B",
        "B or C",
        "B, C",
        "A B C D",
        "ABCD",
        "BB",
        "B) Paris",
        "B) or C)",
        "B) because of its name",
        "B\nC",
        "Answer: B\nAnswer: C",
        "Answer: B or C\nB",
        "A) Paris\nB) Rome\nC) Oslo\nD) Bern",
        "E",
        "Ｂ",
        "rome",
        "2",
        "The answer is in the book of B",
    ],
)
def test_letters_are_not_fished_out_of_anything_else(completion: str) -> None:
    verdict = verifier("choice")({"choices": CITIES, "answer": "B"}, completion)
    assert (verdict.value, verdict.valid, verdict.error) == (0, True, None)


@given(st.text(alphabet="ABCDabcd .,()\n:*RomePis", max_size=60), st.integers(0, 3))
def test_a_completion_is_right_for_at_most_one_choice(completion: str, extra: int) -> None:
    judge = verifier("choice")
    values = [judge({"choices": CITIES, "answer": index}, completion).value for index in range(4)]
    assert sum(values) <= 1


def test_labels_may_be_given() -> None:
    judge, choices = verifier("choice"), {"1": "red", "2": "green", "3": "blue"}
    assert judge({"choices": choices, "answer": "2"}, "2").value == 1
    assert judge({"choices": choices, "answer": 2}, "(2) green").value == 1
    assert judge({"choices": choices, "answer": "green"}, "2").value == 1
    assert judge({"choices": choices, "answer": "green"}, "B").value == 0


def test_numbers_may_be_choices() -> None:
    judge = verifier("choice")
    item = {"choices": [3, 4, 5], "answer": "B"}
    assert judge(item, "4").value == 1
    assert judge(item, "B").value == 1
    assert judge(item, "5").value == 0


@pytest.mark.parametrize(
    "change",
    [
        {"answer": "E"},
        {"answer": 4},
        {"answer": -1},
        {"answer": True},
        {"answer": "rome or so"},
        {"choices": ["only"]},
        {"choices": "AB"},
        {"choices": ["x", "x", "y"]},
        {"choices": ["x", "", "y"]},
        {"choices": {"a": "x", "A": "y"}},
        {"choices": ["B", "A"]},  # "B" is the label of one and the text of the other
        {"choices": [str(i) for i in range(27)]},
    ],
)
def test_an_item_that_makes_no_sense_is_not_a_wrong_answer(change: dict[str, object]) -> None:
    verdict = verifier("choice")({"choices": CITIES, "answer": "B", **change}, "B")
    assert (verdict.valid, verdict.error) == (False, "item_value")
