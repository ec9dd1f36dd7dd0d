"""Verifiers of log-probabilities: what is asked of an engine, and what is made of its answer."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify import verifier
from verify.errors import TaskInvalid, VerifierInvalid, VerifierRejected, VerifierUnknown
from verify.hackability.rows import refuse_bad_rows
from verify.kinds.likelihood import FLOOR, Likelihood
from verify.kinds.logprob import Logprob
from verify.task import load_task, parse_task

TOKENS = st.lists(st.floats(-90, 0), min_size=1, max_size=6)
CHOICES = ["red", "green", "blue"]


def likelihood(kind: str, **params: Any) -> Likelihood:
    judge = verifier(kind, **params)
    assert isinstance(judge, Likelihood)
    return judge


def mixed(**params: Any) -> Likelihood:
    return likelihood("mixed", **{"verifier": {"kind": "exact"}, **params})


@given(TOKENS)
def test_the_value_is_the_mean_or_the_sum_of_the_gold_answers_tokens(tokens: list[float]) -> None:
    mean = likelihood("logprob").judge({"answer": 7}, "", [tokens])
    total = likelihood("logprob", reduce="sum").judge({"answer": 7}, "", [tokens])
    assert mean.value == pytest.approx(sum(tokens) / len(tokens))
    assert total.value == pytest.approx(sum(tokens))
    assert (mean.valid, mean.success) == (True, None)


def test_the_engine_is_asked_for_the_gold_answer_first_and_every_other_choice_once() -> None:
    item = {"answer": "green", "options": ["red", "green", "blue", "red"]}
    assert likelihood("logprob").asks(item) == ("green",)
    assert likelihood("logprob", choices="options", prefix=" ").asks(item) == (" green", " red", " blue")
    assert likelihood("logprob", choices=CHOICES).asks({"answer": "blue"}) == ("blue", "red", "green")
    assert mixed(prefix=" ").asks({"answer": 7}) == (" 7",)


@given(st.lists(TOKENS, min_size=3, max_size=3), st.sampled_from(["mean", "sum"]))
def test_success_is_the_gold_answer_being_strictly_the_likeliest(
    logprobs: list[list[float]], reduce: str
) -> None:
    verdict = likelihood("logprob", choices=CHOICES, reduce=reduce).judge({"answer": "red"}, "", logprobs)
    gold, *others = (math.fsum(row) / (len(row) if reduce == "mean" else 1) for row in logprobs)
    assert verdict.success is (gold > max(others))
    assert verdict.value == gold


def test_equally_likely_choices_are_no_success_and_none_of_them_is_the_gold_answer() -> None:
    judge = likelihood("logprob", choices=CHOICES)
    assert judge.judge({"answer": "red"}, "", [[-1.0]] * 3).success is False
    assert judge.says({"answer": "red"}, [[-1.0]] * 3) != "red"


def test_the_likeliest_choice_stands_for_a_completion() -> None:
    judge = likelihood("logprob", choices=CHOICES, prefix=" ")
    assert judge.says({"answer": "blue"}, [[-3.0], [-2.0], [-0.5]]) == "green"
    assert judge.says({"answer": "blue"}, [[-0.1], [-2.0], [-0.5]]) == "blue"
    assert judge.says({"answer": "blue"}, []) == ""
    assert likelihood("logprob").says({"answer": "blue"}, [[-1.0]]) == ""


@pytest.mark.parametrize("broken", [math.nan, -math.inf, -1e30])
def test_a_model_whose_numbers_break_gives_the_answer_no_chance(broken: float) -> None:
    verdict = likelihood("logprob").judge({"answer": "7"}, "", [[broken, -1.0]])
    assert (verdict.value, verdict.valid) == ((FLOOR - 1) / 2, True)
    lost = likelihood("logprob", choices=CHOICES).judge({"answer": "red"}, "", [[broken]] * 3)
    assert (lost.valid, lost.success) == (True, False)


@pytest.mark.parametrize(
    ("params", "item", "named"),
    [
        ({}, {}, "'answer'"),
        ({}, {"answer": " "}, "' '"),
        ({}, {"answer": ["a"]}, "['a']"),
        ({"choices": "options"}, {"answer": "a"}, "'options'"),
        ({"choices": "options"}, {"answer": "a", "options": "ab"}, "'ab'"),
        ({"choices": "options"}, {"answer": "a", "options": ["b", "c"]}, "not one of several"),
        ({"choices": "options"}, {"answer": "a", "options": ["a", "a"]}, "not one of several"),
        ({"choices": "options"}, {"answer": "a", "options": ["a", 3]}, "no texts"),
        ({"choices": CHOICES}, {"answer": "pink"}, "not one of several"),
    ],
)
def test_an_item_that_cannot_be_scored_is_named_by_verdict_and_validation(
    params: dict[str, Any], item: dict[str, Any], named: str
) -> None:
    judge = likelihood("logprob", **params)
    assert judge.asks(item) == ()
    verdict = judge.judge(item, "", ())
    assert not verdict.valid
    assert verdict.error in ("item_field", "item_value")
    assert named in verdict.detail
    with pytest.raises(VerifierRejected, match="gate row 0"):
        refuse_bad_rows(judge, {"gate": (item,)})


def test_without_an_engine_no_verdict_is_valid() -> None:
    for judge in (likelihood("logprob"), mixed()):
        verdict = judge({"answer": "7"}, "7")
        assert (verdict.valid, verdict.error) == (False, "logprobs")
        missing = judge.judge({"answer": "7"}, "7", ())
        assert (missing.valid, missing.error) == (False, "logprobs")
        empty = judge.judge({"answer": "7"}, "7", [[]])
        assert (empty.valid, empty.error) == (False, "item_value")


@given(st.floats(-90, 0), st.floats(0.01, 10))
def test_mixed_adds_the_weighted_log_probability_and_leaves_success_to_the_other(
    logprob: float, weight: float
) -> None:
    judge = mixed(weight=weight)
    right, wrong = (judge.judge({"answer": "7"}, text, [[logprob]]) for text in ("7", "8"))
    assert right.value == pytest.approx(1 + weight * logprob)
    assert wrong.value == pytest.approx(weight * logprob)
    assert (right.success, wrong.success) == (True, False)
    assert right.components == {"verifier": 1.0, "logprob": logprob}


def test_mixed_reads_the_answer_as_the_other_verifier_does() -> None:
    judge = mixed(verifier={"kind": "gsm8k"})
    item = {"answer": "3 * 6 = 18\n#### 18"}
    assert judge.answer(item, "so #### 18.") == verifier("gsm8k").answer(item, "so #### 18.")
    assert judge.judge(item, "so #### 18.", [[-1.0]]).components["format"] == 1.0
    assert judge.params["verifier"] == {"kind": "gsm8k", **verifier("gsm8k").params}


def test_mixed_cannot_judge_where_the_other_verifier_cannot() -> None:
    judge = mixed(verifier={"kind": "numeric", "field": "n"})
    verdict = judge.judge({"answer": "7"}, "7", [[-1.0]])
    assert (verdict.valid, verdict.error, verdict.success) == (False, "item_field", None)
    assert "'n'" in verdict.detail


@pytest.mark.parametrize("inner", [{"kind": "logprob"}, {"kind": "mixed", "verifier": {"kind": "exact"}}, {}])
def test_mixed_refuses_what_is_no_verifier_of_answers(inner: dict[str, Any]) -> None:
    with pytest.raises(VerifierInvalid):
        verifier("mixed", verifier=inner)


def test_mixed_names_what_is_wrong_with_the_verifier_inside() -> None:
    with pytest.raises(VerifierUnknown, match="did you mean exact"):
        verifier("mixed", verifier={"kind": "exatc"})
    with pytest.raises(VerifierInvalid, match="feild: no such parameter"):
        verifier("mixed", verifier={"kind": "exact", "feild": "x"})


@pytest.mark.parametrize("choices", [["a"], ["a", "a"], ["a", " "], []])
def test_choices_that_leave_no_choice_are_refused(choices: list[str]) -> None:
    with pytest.raises(VerifierInvalid, match="two or more different texts"):
        verifier("logprob", choices=choices)


def spec(**changes: Any) -> dict[str, Any]:
    rows = [{"q": str(n), "answer": ("even", "odd")[n % 2]} for n in range(8)]
    splits = {"support": 2, "select": 2, "gate": 2, "test": 2}
    task = {"name": "t", "data": {"rows": rows}, "prompt": {"user": "{q}"}, "splits": splits}
    return {**task, "verifier": {"kind": "logprob"}, **changes}


def test_a_task_that_no_log_probability_can_pass_is_refused() -> None:
    with pytest.raises(TaskInvalid, match=r"none reaches pass_threshold 1 .* for example -0\.7"):
        parse_task(spec())
    with pytest.raises(TaskInvalid):
        parse_task(spec(pass_threshold=0.0))
    judged = load_task(parse_task(spec(pass_threshold=-0.7)), None)  # type: ignore[arg-type]
    judge = judged.verifier
    assert isinstance(judge, Logprob)
    assert judged.succeeds(judge.judge({"answer": "odd"}, "", [[-0.6]]))
    assert not judged.succeeds(judge.judge({"answer": "odd"}, "", [[-0.8]]))
    parse_task(spec(verifier={"kind": "logprob", "choices": ["even", "odd"]}))


def test_a_mixed_task_is_validated_by_what_judges_the_answers() -> None:
    task = load_task(parse_task(spec(verifier={"kind": "mixed", "verifier": {"kind": "exact"}})), None)  # type: ignore[arg-type]
    report = task.check()
    assert report.finding("oracle").success == 1
    assert report.finding("junk").score == 0
