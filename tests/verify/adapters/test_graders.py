"""Graders that users have, called as their programs call them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.verify.adapters.conftest import Make
from verify import Verifier, verifier
from verify.errors import VerifierInvalid
from verify.verdict import Fault

ITEM = {"answer": "yes", "prompt": "?", "kind": "math"}


def test_a_function_gives_a_number_a_boolean_or_parts(make: Make) -> None:
    right = make("function", object="users_graders:right")
    assert [right(ITEM, text).value for text in ("yes", " yes\n", "no")] == [1, 1, 0]
    assert right(ITEM, "yes").success is None
    assert right.oracle(ITEM) == "yes"
    assert make("function", object="users_graders:right", arguments={"bonus": 0.5})(ITEM, "yes").value == 1.5
    assert make("function", object="users_graders:later")(ITEM, "yes").value == 1
    assert make("function", object="users_graders:Strict")(ITEM, "yes").value == 1


def test_a_shaped_value_and_its_success_stay_apart(make: Make) -> None:
    parts = make("function", object="users_graders:parts")
    verdict = parts(ITEM, "no")
    assert (verdict.value, verdict.valid, verdict.success) == (1.1, True, False)
    assert verdict.components == {"success": 0, "length": 2}
    assert parts(ITEM, "yes").success is True


def test_a_grader_that_draws_repeats_itself(make: Make) -> None:
    drawn = make("function", object="users_graders:drawn")
    assert len({drawn(ITEM, text).value for text in ("a", "b", "a")}) == 1


@pytest.mark.parametrize(
    ("completion", "fault", "detail"),
    [
        ("exit", Fault.PROCESS, "ended twice"),
        ("quit", Fault.EXCEPTION, "SystemExit: bye"),
        ("raise", Fault.EXCEPTION, "KeyError: 'gold'"),
        ("interrupt", Fault.EXCEPTION, "KeyboardInterrupt"),
        ("string", Fault.RESULT, "not str '1.0'"),
        ("none", Fault.NOT_APPLICABLE, "None"),
        ("nothing", Fault.NOT_APPLICABLE, "None"),
        ("nan", Fault.NOT_FINITE, "nan"),
        ("inf", Fault.NOT_FINITE, "inf"),
        ("list", Fault.RESULT, "not list [1.0]"),
        ("set", Fault.RESULT, "not set {1.0}"),
        ("dict", Fault.RESULT, "score, value, reward"),
        ("words", Fault.RESULT, "score"),
        ("big", Fault.EXCEPTION, "OverflowError"),
        ("complex", Fault.RESULT, "complex"),
        ("unknown", Fault.EXCEPTION, "KeyError"),
    ],
)
def test_nonsense_is_no_verdict_and_says_what_it_was(
    hostile: Verifier, completion: str, fault: Fault, detail: str
) -> None:
    verdict = hostile({}, completion)
    assert (verdict.value, verdict.valid, verdict.error) == (0, False, fault)
    assert detail in verdict.detail
    assert hostile({}, "true").value == 1  # the next one is judged


@pytest.mark.parametrize("completion", ["hang", "spin"])
def test_what_never_returns_is_stopped(make: Make, completion: str) -> None:
    judge = make("function", object="users_graders:hostile", timeout=0.1)
    assert judge({}, completion).error == Fault.TIMEOUT
    assert judge({}, "half").value == 0.5


def test_printed_megabytes_and_closed_descriptors_disturb_nothing(make: Make) -> None:
    judge = make("function", object="users_graders:hostile")
    assert [judge({}, text).value for text in ("print", "close", "half", "true")] == [1, 1, 0.5, 1]


def test_hostile_and_good_questions_from_many_threads_get_their_own_answers(hostile: Verifier) -> None:
    texts = ["true", "raise", "half", "quit", "nan", "print"] * 5
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda text: hostile({}, text), texts))
    expected = [(1, None), (0, "exception"), (0.5, None), (0, "exception"), (0, "not_finite"), (1, None)] * 5
    assert [(verdict.value, verdict.error) for verdict in verdicts] == expected


@pytest.mark.parametrize(
    ("reference", "detail"),
    [
        ("no_such_module:f", "ModuleNotFoundError"),
        ("users_graders:no_such_function", "AttributeError"),
        ("users_graders:LOUD", "cannot be called"),
        ("users_graders:os.system", "os is a module"),
        ("users_graders:Counter", "defined in collections"),
        ("leaves:f", "SystemExit"),
    ],
)
def test_what_cannot_be_imported_says_so_at_every_question(
    make: Make, folder: Path, reference: str, detail: str
) -> None:
    (folder / "leaves.py").write_text("raise SystemExit(3)")
    judge = make("function", object=reference)
    for _ in range(2):
        verdict = judge(ITEM, "yes")
        assert verdict.error == Fault.EXCEPTION
        assert reference in verdict.detail
        assert detail in verdict.detail


def test_an_entry_point_is_found_by_its_name(make: Make, folder: Path) -> None:
    about = folder / "graders-1.0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: graders\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[corp.verifiers]\nmine = users_graders:right\n")
    assert make("function", entry_point="mine")(ITEM, "yes").value == 1
    missing = make("function", entry_point="other")(ITEM, "yes")
    assert "there are: mine" in missing.detail


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({}, "one of object"),
        ({"object": "a:b", "entry_point": "c"}, "one of object"),
        ({"object": "os.system"}, "object"),
        ({"object": "../a:b"}, "object"),
        ({"object": "a:b", "timeout": 0}, "timeout"),
        ({"source": "def f(:"}, "source is not Python"),
        ({"source": "grade = 1"}, "defines no function grade"),
        ({"source": "\0"}, "source is not Python"),
        ({"source": "(" * 5000}, "source is not Python"),
    ],
)
def test_a_bad_reference_or_source_is_refused_before_work_starts(
    params: dict[str, object], named: str
) -> None:
    with pytest.raises(VerifierInvalid, match=named):
        verifier("function", **params)


def test_nothing_is_imported_when_a_verifier_is_made(folder: Path) -> None:
    (folder / "marks.py").write_text("open(__file__ + '.seen', 'w').close()\nf = lambda item, completion: 1")
    script = (
        f"import verify; v = verify.verifier('function', object='marks:f', path={str(folder)!r}); v.close()"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[3])
    assert not (folder / "marks.py.seen").exists()


def test_trl_functions_get_lists_of_one_and_their_columns(make: Make) -> None:
    assert make("trl", functions=["users_graders:matches"])(ITEM, "yes").value == 1
    assert make("trl", functions=["users_graders:matches_later"])(ITEM, "no").value == 0
    assert make("trl", functions=["users_graders:chatty"], conversational=True)(ITEM, "hi").value == 1
    summed = make("trl", functions=["users_graders:matches", "users_graders:length_reward"], weights=[1, 0.1])
    verdict = summed(ITEM, "yes")
    assert verdict.value == pytest.approx(1.3)
    assert verdict.components == {"matches": 1, "length_reward": 3}


def test_trl_none_is_not_applicable_and_the_others_count(make: Make) -> None:
    alone = make("trl", functions=["users_graders:only_math"])
    assert alone(ITEM, "x").value == 1
    assert alone({**ITEM, "kind": "art"}, "x").error == Fault.NOT_APPLICABLE
    both = make("trl", functions=["users_graders:only_math", "users_graders:matches"])
    assert both({**ITEM, "kind": "art"}, "yes").value == 1


@pytest.mark.parametrize(
    ("function", "fault"), [("tokens", "exception"), ("two", "result"), ("scalar", "result")]
)
def test_a_trl_function_that_needs_more_or_gives_more_has_no_verdict(
    make: Make, function: str, fault: str
) -> None:
    assert make("trl", functions=[f"users_graders:{function}"])(ITEM, "yes").error == fault


def test_trl_weights_have_to_match() -> None:
    with pytest.raises(VerifierInvalid, match="2 functions and 1 weights"):
        verifier("trl", functions=["a:b", "a:c"], weights=[1.0])
    with pytest.raises(VerifierInvalid, match="functions"):
        verifier("trl", functions=[])


def test_verl_rows_work_as_they_are(make: Make) -> None:
    row = {
        "data_source": "openai/gsm8k",
        "prompt": [{"role": "user", "content": "9 * 2?"}],
        "reward_model": {"style": "rule", "ground_truth": "18"},
        "extra_info": {"index": 0},
    }
    judge = make("verl", object="users_graders:compute_score")
    assert [judge(row, text).value for text in ("#### 18", "#### 17")] == [1, 0]
    flat = make("verl", object="users_graders:compute_score", field="gold", data_source="openai/gsm8k")
    assert flat({"gold": "18"}, "#### 18").value == 1
    assert flat({}, "#### 18").error == Fault.ITEM_FIELD
    assert judge({**row, "data_source": "else"}, "#### 18").error == Fault.EXCEPTION
    bare = make("verl", object="users_graders:bare", arguments={"format_score": 0.2})
    assert [bare(row, text).value for text in ("18", "17")] == [1, 0.2]


def test_verls_acc_is_the_success_and_its_score_the_value(make: Make) -> None:
    judge = make("verl", object="users_graders:dapo", field="gold")
    wrong, right = judge({"gold": "18"}, "17"), judge({"gold": "18"}, "18")
    assert (wrong.value, wrong.success, right.value, right.success) == (-1, False, 1, True)
    assert right.components == {"acc": 1}


def test_a_randopt_handler_scores_and_votes(make: Make) -> None:
    row = {"ground_truth": 7, "numbers": [1, 2]}
    judge = make("randopt", object="users_graders:Handler")
    assert [judge(row, text).value for text in ("<answer>7</answer>", "7")] == [1, 0.1]
    assert [judge.answer(row, text) for text in ("<answer>7</answer>", "7")] == ["7", None]
    voter = make("randopt", object="users_graders:Countdown")
    assert voter.answer(row, "<answer>7</answer>") == "7"
    assert voter.answer({"ground_truth": 7, "numbers": [3]}, "<answer>7</answer>") is None
    scorer = make("randopt", object="users_graders:scorer", field="gold")
    assert scorer({"gold": "a"}, "a").value == 1
    assert scorer.answer({"gold": "a"}, "b") == "b"


def test_rubric_functions_get_what_they_name(make: Make) -> None:
    assert make("verifiers", object="users_graders:exact")(ITEM, "yes").value == 1
    rubric = make("verifiers", object="users_graders:RUBRIC")
    assert [rubric(ITEM, text).value for text in ("yes", "no", "never")] == [1.25, 0.25, 0]
    assert rubric(ITEM, "no").components == {"exact": 0, "brief": 1}
