from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify import arithmetic
from verify.arithmetic import Malformed, evaluate

Tree = int | tuple[str, "Tree", "Tree"] | tuple[str, "Tree"]

trees = st.recursive(
    st.integers(0, 999),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*/"), inner, inner),
        st.tuples(st.just("-"), inner),
    ),
    max_leaves=8,
)


def value(tree: Tree) -> Fraction:
    """The tree's value, by Fraction's own arithmetic."""
    if isinstance(tree, int):
        return Fraction(tree)
    if len(tree) == 2:
        return -value(tree[1])
    left, right = value(tree[1]), value(tree[2])
    return {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}[tree[0]](right)


def written(tree: Tree, space: str) -> str:
    """The tree with all its parentheses."""
    if isinstance(tree, int):
        return str(tree)
    if len(tree) == 2:
        return f"(-{space}{written(tree[1], space)})"
    return f"({written(tree[1], space)}{space}{tree[0]}{space}{written(tree[2], space)})"


def leaves(tree: Tree) -> list[int]:
    return [tree] if isinstance(tree, int) else [leaf for branch in tree[1:] for leaf in leaves(branch)]


@given(trees, st.sampled_from(["", " ", "\n"]))
def test_an_expression_has_the_value_of_its_tree(tree: Tree, space: str) -> None:
    text = written(tree, space)
    try:
        expected = value(tree)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            evaluate(text)
        return
    equation = evaluate(text)
    assert equation.value == expected
    assert list(equation.literals) == leaves(tree)


flat = st.lists(st.tuples(st.sampled_from("+-*/"), st.integers(1, 99)), min_size=1, max_size=12)


@given(st.integers(1, 99), flat)
def test_precedence_and_associativity_are_those_of_python(first: int, rest: list[tuple[str, int]]) -> None:
    text = str(first) + "".join(f"{sign}{number}" for sign, number in rest)
    # The oracle: split into terms at + and -, fold each term from the left.
    total, term, sign = Fraction(0), Fraction(first), 1
    for symbol, number in rest:
        if symbol in "+-":
            total, term, sign = total + sign * term, Fraction(number), 1 if symbol == "+" else -1
        else:
            term = term * number if symbol == "*" else term / number
    assert evaluate(text).value == total + sign * term


@given(st.text(max_size=300))
def test_any_text_evaluates_or_is_refused_by_name(text: str) -> None:
    with suppress(Malformed, ZeroDivisionError):
        evaluate(text)


@given(st.text(alphabet="0123456789+-*/()= ", max_size=300))
def test_any_text_over_the_alphabet_evaluates_or_is_refused_by_name(text: str) -> None:
    try:
        equation = evaluate(text)
    except (Malformed, ZeroDivisionError):
        return
    assert equation.value.numerator.bit_length() < 2600


@pytest.mark.parametrize(
    "text",
    [
        "2**3",
        "2* *3",
        "7//2",
        "7/ /2",
        "1.5+2",
        "1e3",
        "0x10",
        "08",
        "1_000",
        "2^3",
        "3!",
        "5%2",
        "+5",
        "1,000",
        "２+３",
        "٣+1",
        "2²",
        "1+",
        "(1+2",
        "1+2)",
        "()",
        "",
        "2(3)",
        "1 2",
        "x+1",
        "__import__('os')",
        "1+2=",
        "1+2=3=3",
        "1+2=3.0",
        "=3",
        "1\u00a0+2",
        "1×2",
        "1\x00+2",
    ],
)
def test_what_is_outside_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        evaluate(text)


@pytest.mark.parametrize(
    ("text", "value", "claimed"),
    [("(1+2)*3 = 9", 9, 9), ("3-5=-2", -2, -2), ("4*6=25", 24, 25), ("7", 7, None), ("--7", 7, None)],
)
def test_a_stated_result_is_reported_beside_the_value(text: str, value: int, claimed: int | None) -> None:
    equation = evaluate(text)
    assert (equation.value, equation.claimed) == (value, claimed)


def test_limits_hold_on_length_depth_digits_and_count() -> None:
    assert evaluate("(" * 23 + "1" + ")" * 23).value == 1
    assert evaluate("9" * arithmetic.MAX_DIGITS).value == 10**12 - 1
    assert evaluate("+".join("1" * arithmetic.MAX_LITERALS)).value == 64
    too_much = [
        "1+" * 200 + "1",
        "(" * 24 + "1" + ")" * 24,
        "-" * 25 + "1",
        "9" * (arithmetic.MAX_DIGITS + 1),
        "+".join("1" * (arithmetic.MAX_LITERALS + 1)),
    ]
    for text in too_much:
        with pytest.raises(Malformed):
            evaluate(text)
