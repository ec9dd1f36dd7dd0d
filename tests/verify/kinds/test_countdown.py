from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify import verifier

ITEM = {"numbers": [1, 2, 3], "target": 9}


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        ("<answer>(1+2)*3</answer>", 1),
        ("<think>1+2=3</think> <answer> (1 + 2) * 3 </answer>", 1),
        ("<answer>(1+2)*3 = 9</answer>", 1),
        ("<answer>3*(2+1)</answer>", 1),
        ("<answer>-(-1-2)*3</answer>", 1),
        ("<answer>5</answer><answer>(1+2)*3</answer>", 1),
        ("<answer>(1+2)*3</answer><answer>5</answer>", 0),
        ("<answer>(1+2)*3 = 10</answer>", 0),
        ("<answer>3*3</answer>", 0),
        ("<answer>(1+2)*3+3-3</answer>", 0),
        ("<answer>9</answer>", 0),
        ("<answer>3**2*1</answer>", 0),  # passes a filter by characters
        ("<answer>(1+2)//1*3</answer>", 0),
        ("<answer>9**9**9**9</answer>", 0),
        ("<answer>(1+2)*３</answer>", 0),
        ("<answer>(1+2)*3</answer", 0),
        ("<answer>(1+2)*3", 0),
        ("</answer>(1+2)*3<answer>", 0),
        ("(1+2)*3", 0),
        ("", 0),
        ("<answer></answer>", 0),
        ("<answer>" + "(" * 10_000 + "</answer>", 0),
        ("<answer>1/(3-2-1)</answer>", 0),
    ],
)
def test_only_a_fair_expression_of_the_target_is_right(completion: str, value: float) -> None:
    verdict = verifier("countdown")(ITEM, completion)
    assert (verdict.value, verdict.valid, verdict.error) == (value, True, None)


def test_division_is_exact() -> None:
    judge = verifier("countdown")
    assert judge({"numbers": [8, 3, 8, 3], "target": 24}, "<answer>8/(3-8/3)</answer>").value == 1
    assert judge({"numbers": [10, 3, 3], "target": 10}, "<answer>10/3*3</answer>").value == 1
    assert judge({"numbers": [7, 2], "target": 3}, "<answer>7/2</answer>").value == 0


def test_leaving_a_number_out_is_allowed_only_on_request() -> None:
    completion = "<answer>2*3</answer>"
    item = {"numbers": [1, 2, 3], "target": 6}
    assert verifier("countdown")(item, completion).value == 0
    assert verifier("countdown", use_all=False)(item, completion).value == 1
    assert verifier("countdown", use_all=False)(item, "<answer>2*3*1*1</answer>").value == 0


def test_a_number_given_twice_may_be_used_twice() -> None:
    judge = verifier("countdown")
    assert judge({"numbers": [4, 4], "target": 16}, "<answer>4*4</answer>").value == 1
    assert judge({"numbers": [4, 2], "target": 16}, "<answer>4*4</answer>").value == 0


def test_format_alone_earns_nothing() -> None:
    verdict = verifier("countdown")(ITEM, "<answer>1+2+3</answer>")
    assert verdict.value == 0
    assert verdict.components == {"format": 1, "numbers": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"numbers": []},
        {"numbers": "1 2 3"},
        {"numbers": [1, "2"]},
        {"numbers": [1.0]},
        {"numbers": [True]},
        {"numbers": [-1]},
        {"numbers": [10**12]},
        {"target": "9"},
        {"target": 9.5},
    ],
)
def test_an_item_that_makes_no_sense_is_not_a_wrong_answer(change: dict[str, object]) -> None:
    verdict = verifier("countdown")({**ITEM, **change}, "<answer>1</answer>")
    assert (verdict.valid, verdict.error) == (False, "item_value")


@given(st.lists(st.integers(1, 9), min_size=2, max_size=3), st.integers(1, 30))
def test_it_agrees_with_an_enumeration_of_left_to_right_expressions(numbers: list[int], target: int) -> None:
    judge, item = verifier("countdown"), {"numbers": numbers, "target": target}
    for signs in itertools.product("+-*/", repeat=len(numbers) - 1):
        value, text = Fraction(numbers[0]), str(numbers[0])
        for sign, number in zip(signs, numbers[1:], strict=True):
            value = {"+": value + number, "-": value - number, "*": value * number, "/": value / number}[sign]
            text = f"({text}{sign}{number})"
        assert judge(item, f"<answer>{text}</answer>").value == float(value == target)
