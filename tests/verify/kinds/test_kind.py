"""What the contract promises of every kind."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify import KINDS, Verifier, verifier
from verify.kinds.kind import Grade, Kind, graded
from verify.verdict import Item

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PARAMS: dict[str, dict[str, Any]] = {"regex": {"pattern": r"^\d+$"}, "json_schema": {"schema": SCHEMA}}
ITEM = {"answer": "2", "choices": ["1", "2", "3"], "numbers": [1, 2, 3], "target": 9}
RIGHT = {
    "choice": "B",
    "countdown": "<answer>(1+2)*3</answer>",
    "exact": "2",
    "gsm8k": "#### 2",
    "json_schema": '{"n": 2}',
    "lm_eval": "2",
    "math": "2",
    "numeric": "2",
    "regex": "2",
}

ENGINES = ("logprob", "mixed")  # judge with an engine alone
USERS = ("function", "gym", "randopt", "trl", "verifiers", "verl")  # run somebody's code, tested as adapters
TEXT_KINDS = [kind for kind in KINDS if kind not in ENGINES + USERS]


@pytest.fixture(scope="module")
def judges() -> Iterator[dict[str, Verifier]]:
    made = {kind: verifier(kind, **PARAMS.get(kind, {})) for kind in TEXT_KINDS}
    yield made
    for judge in made.values():
        judge.close()


def test_right_and_wrong_are_valid_verdicts_of_every_kind(judges: dict[str, Verifier]) -> None:
    assert set(RIGHT) == set(TEXT_KINDS) - {"random"}
    for kind, completion in RIGHT.items():
        right, wrong = judges[kind](ITEM, completion), judges[kind](ITEM, "neither this nor that")
        assert (right.value, right.valid, right.error) == (1.0, True, None), kind
        assert (wrong.value, wrong.valid, wrong.error) == (0.0, True, None), kind
        assert right.latency_ms > 0


@pytest.mark.parametrize("completion", [None, 3, b"2", ["2"], {}])
def test_a_completion_that_is_no_text_is_not_valid(judges: dict[str, Verifier], completion: Any) -> None:
    for kind, judge in judges.items():
        verdict = judge(ITEM, completion)
        assert (verdict.value, verdict.valid, verdict.error) == (0, False, "completion"), kind


def test_a_missing_or_null_field_is_named(judges: dict[str, Verifier]) -> None:
    for kind, judge in judges.items():
        for name in judge.fields:
            for item in ({k: v for k, v in ITEM.items() if k != name}, {**ITEM, name: None}):
                verdict = judge(item, RIGHT[kind])
                assert (verdict.value, verdict.valid, verdict.error) == (0, False, "item_field"), kind
                assert repr(name) in verdict.detail


def test_an_item_that_is_no_mapping_is_not_valid(judges: dict[str, Verifier]) -> None:
    for kind in ("exact", "gsm8k", "random"):
        assert not judges[kind](None, "2").valid  # type: ignore[arg-type]


JUNK = st.one_of(
    st.text(max_size=200),
    st.text(alphabet='0123456789+-*/()=.,#<>answer \n\\${}[]":ABCD²½１\ud800\x00😀', max_size=400),
)


@given(JUNK)
def test_junk_is_a_valid_verdict_and_the_same_twice(judges: dict[str, Verifier], completion: str) -> None:
    for kind, judge in judges.items():
        verdict = judge(ITEM, completion)
        assert verdict.valid, (kind, verdict)
        assert verdict == judge(ITEM, completion)


def test_hostile_completions_are_wrong_and_cheap(judges: dict[str, Verifier]) -> None:
    hostile = [
        "\x00",
        "True",
        "#" * 1_000_000,
        "9" * 1_000_000,
        "[" * 1_000_000,
        '{"n":' * 100_000,
        "<answer>" * 100_000,
        "<answer>" + "(" * 1_000_000 + "</answer>",
        "A) " * 300_000,
        "1e999999999",
        "#### " + "1," * 100_000,
    ]
    for kind, judge in judges.items():
        if kind == "random":
            continue
        for completion in hostile:
            verdict = judge(ITEM, completion)
            assert verdict.valid, (kind, completion[:20], verdict.detail)
            assert verdict.value == 0 or (kind == "regex" and completion[0] == "9"), (kind, completion[:20])


def test_only_max_chars_of_a_completion_are_read() -> None:
    judge = verifier("exact", max_chars=3)
    assert judge({"answer": "abc"}, "abcdef").value == 1
    default = verifier("numeric")
    assert default.params["max_chars"] == 32_768
    assert default({"answer": 7}, "7" + " " * 32_767 + "8").value == 1
    assert default({"answer": 8}, "7" + " " * 32_766 + "8").value == 1


def test_a_thread_pool_gets_the_same_verdicts_as_a_loop(judges: dict[str, Verifier]) -> None:
    texts = [RIGHT[kind] for kind in sorted(RIGHT)] + [str(number) for number in range(40)]
    jobs = [(kind, text) for kind in TEXT_KINDS for text in texts]
    serial = [judges[kind](ITEM, text) for kind, text in jobs]
    with ThreadPoolExecutor(max_workers=16) as pool:
        parallel = list(pool.map(lambda job: judges[job[0]](ITEM, job[1]), jobs * 3))
    assert parallel == serial * 3


class _Raising(Kind):
    kind: ClassVar[str] = "raising"

    def grade(self, item: Item, completion: str) -> Grade:
        return graded(bool(1 / len(completion)))


class _Given(Kind):
    kind: ClassVar[str] = "given"

    def grade(self, item: Item, completion: str) -> Grade:
        return Grade(item["value"], {"part": item["part"]})


def test_an_exception_is_not_valid_and_never_a_silent_zero() -> None:
    verdict = _Raising()({}, "")
    assert (verdict.valid, verdict.error) == (False, "exception")
    assert "ZeroDivisionError" in verdict.detail


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_not_valid(bad: float) -> None:
    for item in ({"value": bad, "part": 0.0}, {"value": 0.0, "part": bad}):
        verdict = _Given()(item, "")
        assert (verdict.value, verdict.valid, verdict.error) == (0, False, "not_finite")
        assert not verdict.components


def test_an_oracle_passes_wherever_an_item_has_one(judges: dict[str, Verifier]) -> None:
    item = {**ITEM, "answer": "2"}
    for kind in ("exact", "choice", "gsm8k", "numeric"):
        answer = judges[kind].oracle(item)
        assert answer is not None
        assert judges[kind](item, answer).value == 1, kind
    solved = {**ITEM, "answer": "(1 + 2) * 3"}
    assert judges["countdown"](solved, judges["countdown"].oracle(solved) or "").value == 1
    assert judges["random"].oracle(item) is None
    assert judges["json_schema"].oracle(item) is None
