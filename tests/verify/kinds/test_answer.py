"""Answers as votes: one spelling for what the verifier takes for one answer, none where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify import KINDS, Verifier, verifier
from verify.verdict import Item

SHAPE = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
OLD_SHAPE = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": {"type": "integer"}}}
VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("choice", {}),
    ("countdown", {}),
    ("countdown", {"use_all": False}),
    ("exact", {}),
    ("exact", {"ignore_case": True}),
    ("exact", {"strip": False}),
    ("gsm8k", {}),
    ("gsm8k", {"strict": True}),
    ("json_schema", {"schema": SHAPE}),
    ("json_schema", {"schema": SHAPE, "expected": "value"}),
    ("json_schema", {"schema": OLD_SHAPE, "fence": "require"}),
    ("json_schema", {"schema": OLD_SHAPE, "expected": "value"}),
    ("lm_eval", {}),
    ("lm_eval", {"filters": [{"function": "regex", "regex_pattern": "[0-9]+"}], "ignore_case": True}),
    ("math", {}),
    ("math", {"strict": True, "tol": 0.5}),
    ("math", {"form": "integer"}),
    ("numeric", {}),
    ("numeric", {"tol": 0.5, "which": "only"}),
    ("random", {}),
    ("regex", {"pattern": r"^[0-9]+$"}),
    ("regex", {"pattern": "2", "mode": "full", "strip": False}),
)
ENGINES = {"logprob", "mixed"}  # need an engine
USERS = {"function", "gym", "randopt", "trl", "verifiers", "verl"}  # need somebody's code
ITEMS = (
    {"answer": "2", "choices": ["1", "2", "3"], "numbers": [1, 2, 3], "target": 9, "value": {"n": 2}},
    {"answer": "B", "choices": {"A": "2", "B": "18"}, "numbers": [2, 9], "target": 18, "value": {"n": 18}},
    {"answer": 18, "choices": [str(n) for n in range(20)], "numbers": [6, 3], "target": 18, "value": [1]},
)


@pytest.fixture(scope="module")
def judges() -> Iterator[list[Verifier]]:
    made = [verifier(kind, **params) for kind, params in VARIANTS]
    assert {judge.kind for judge in made} == set(KINDS) - ENGINES - USERS
    yield made
    for judge in made:
        judge.close()


NUMBERS = st.sampled_from(
    ["2", "2.0", "+2", "02", "2.00", "18", "18.", "1.8e1", "36/2", "$18", "19", "²", ""]
)
SUMS = st.sampled_from(
    ["(1+2)*3", "3*(2+1)", "1+2+3", "2*9", "9*2", "9*2=18", "2*9=19", "6*3", "9/0", "9+9", "2"]
)
VALUES = st.sampled_from(["2", "2.0", "20e-1", "18", "1.8E1", "2.5", "true", '"2"', "-0.0", "0", "null"])
COMPLETIONS = st.one_of(
    NUMBERS,
    st.tuples(st.sampled_from(["The answer is ", "#### ", "so ", "1 + 1 = ", " "]), NUMBERS).map("".join),
    st.sampled_from(["A", "(B)", "B.", "b", "Answer: B", "B) 2", "2.", "A or B", "A\nB", "nothing", "  "]),
    SUMS.map("<answer>{}</answer>".format),
    VALUES.map('{{"n": {}}}'.format),
    VALUES.map('```json\n{{"m": 1, "n":{}}}\n```'.format),
    VALUES.map('{{"n":{}, "m": 1.0}}'.format),
    st.text(max_size=20),
)


@given(st.sampled_from(ITEMS), st.lists(COMPLETIONS, min_size=2, max_size=8))
def test_completions_with_one_answer_get_one_verdict(
    judges: list[Verifier], item: Item, completions: list[str]
) -> None:
    for judge in judges:
        values: dict[str, float] = {}
        for completion in completions:
            answer, verdict = judge.answer(item, completion), judge(item, completion)
            if answer is not None and verdict.valid:
                assert values.setdefault(answer, verdict.value) == verdict.value, (judge, completion)


@given(st.sampled_from(ITEMS), COMPLETIONS)
def test_what_passes_has_an_answer(judges: list[Verifier], item: Item, completion: str) -> None:
    for judge in judges:
        if judge.kind != "random" and judge(item, completion).value > 0:
            assert judge.answer(item, completion) is not None, (judge, completion)


def test_an_items_own_answer_has_a_key(judges: list[Verifier]) -> None:
    solved = {**ITEMS[0], "answer": "(1+2)*3"}
    asked = 0
    for judge in judges:
        item = solved if judge.kind == "countdown" else ITEMS[0]
        oracle = judge.oracle(item)
        if oracle is not None:
            asked += 1
            assert judge.answer(item, oracle) is not None, judge
    assert asked >= len(VARIANTS) - 4  # coins, regular expressions and bare schemas may have none


SAME: tuple[tuple[str, dict[str, Any], list[str]], ...] = (
    ("numeric", {}, ["18", "18.0", "it is 18.", "36/2", "1.8e1"]),
    ("gsm8k", {}, ["#### 18", "so 18", "#### $18.00", "18."]),
    ("math", {}, [r"\boxed{1/2}", "#### 0.5", r"so the answer is $\dfrac12$.", r"x \boxed{\frac 1 2}"]),
    ("math", {}, [r"\boxed{1,-2}", r"\boxed{\{-2, 1\}}", "The answers are -2 and 1."]),
    ("choice", {}, ["B", "(b)", "B. 2", "2", "The answer is B"]),
    ("countdown", {}, ["<answer>(1+2)*3</answer>", "x <answer>3*(2+1)=9</answer>"]),
    ("exact", {"ignore_case": True}, ["Paris", " paris\n"]),
    ("json_schema", {"schema": {}}, ['{"a":1,"b":2}', '```json\n{"b": 2.0, "a": 1}\n```']),
    ("regex", {"pattern": "x"}, ["x y", " x y "]),
)


@pytest.mark.parametrize(("kind", "params", "completions"), SAME)
def test_spellings_of_one_answer_share_a_key(
    kind: str, params: dict[str, Any], completions: list[str]
) -> None:
    judge = verifier(kind, **params)
    keys = {judge.answer(ITEMS[0], completion) for completion in completions}
    assert len(keys) == 1
    assert None not in keys


@pytest.mark.parametrize(
    ("kind", "params", "completion"),
    [
        ("choice", {}, "A or B"),
        ("choice", {}, "I like Paris"),
        ("countdown", {}, "(1+2)*3"),
        ("countdown", {}, "<answer>1+2</answer>"),  # not every number
        ("countdown", {}, "<answer>(1+2)*3=10</answer>"),
        ("countdown", {}, "<answer>1/(3-2-1)</answer>"),
        ("exact", {}, " \n"),
        ("gsm8k", {}, "eighteen"),
        ("gsm8k", {"strict": True}, "18"),
        ("json_schema", {"schema": {}}, "{'a': 1}"),
        ("json_schema", {"schema": {}, "fence": "require"}, "1"),
        ("math", {}, "some\nprose"),
        ("math", {}, r"\boxed{"),
        ("math", {"strict": True}, "the answer is 5"),
        ("math", {"form": "integer"}, r"\boxed{10/2}"),
        ("numeric", {}, "3-5"),
        ("numeric", {"which": "only"}, "it is 18"),
    ],
)
def test_no_answer_is_an_abstention(kind: str, params: dict[str, Any], completion: str) -> None:
    assert verifier(kind, **params).answer(ITEMS[0], completion) is None


def test_the_key_does_not_depend_on_the_right_answer() -> None:
    for kind, completion in (("exact", "7"), ("numeric", "7"), ("gsm8k", "#### 7"), ("choice", "A")):
        judge = verifier(kind)
        keys = {judge.answer({**ITEMS[0], "answer": gold}, completion) for gold in ("1", "2", "3")}
        assert keys == {"A" if kind == "choice" else "7"}


def test_a_draft_that_tells_1_from_1_0_keeps_them_apart() -> None:
    keys = {
        draft: verifier("json_schema", schema={"$schema": draft}).answer({}, "[1.0]")
        for draft in (
            "http://json-schema.org/draft-04/schema#",
            "https://json-schema.org/draft/2020-12/schema",
        )
    }
    assert list(keys.values()) == ["[1.0]", "[1]"]


def test_only_max_chars_count_and_junk_never_raises() -> None:
    assert verifier("exact", max_chars=3).answer({}, "abcdef") == "abc"
    for kind in set(KINDS) - {"json_schema", "regex"} - ENGINES - USERS:
        for item in (None, {}, {"choices": 3, "numbers": "x"}):
            verifier(kind).answer(item, "\x00")  # type: ignore[arg-type]
        assert verifier(kind).answer({}, None) is None  # type: ignore[arg-type]
