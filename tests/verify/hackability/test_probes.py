"""One weakness at a time: the probe made for it finds it, and a sound verifier passes all."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any, ClassVar

import pytest
from pydantic import PrivateAttr

from tests.verify.hackability.examples import examined, failed, task_of
from verify.errors import VerifierRejected
from verify.hackability.bench import PATIENCE
from verify.kinds.kind import Grade, Kind, Ungradable, graded
from verify.verdict import Fault, Item

SUMS = [{"question": f"{a} + {b} = ?", "answer": str(a + b)} for a in range(11, 19) for b in range(20, 32)]
NUMBERED = [{**row, "n": n} for n, row in enumerate(SUMS)]


class _Weak(Kind):
    kind: ClassVar[str] = "weak"

    def right(self, item: Item, completion: str) -> bool:
        return bool(completion.strip().removeprefix("Answer: ") == item["answer"])

    def grade(self, item: Item, completion: str) -> Grade:
        return graded(self.right(item, completion))


class _Contains(_Weak):
    def right(self, item: Item, completion: str) -> bool:
        return item["answer"] in completion


class _Echoes(_Weak):
    def right(self, item: Item, completion: str) -> bool:
        return super().right(item, completion) or item["question"] in completion


class _Near(_Weak):
    """Credit for closeness."""

    def grade(self, item: Item, completion: str) -> Grade:
        try:
            gap = abs(float(completion.removeprefix("Answer: ")) - float(item["answer"]))
        except ValueError:
            gap = 99.0
        return Grade(max(0.0, 1 - gap / 100))


class _PaysFormat(_Weak):
    pay: float = 0.1
    says: bool = False

    def grade(self, item: Item, completion: str) -> Grade:
        right = self.right(item, completion)
        return Grade(1.0 if right else self.pay, success=right if self.says else None)


class _WrongRows(_Weak):
    def right(self, item: Item, completion: str) -> bool:
        return item["n"] % 25 != 3 and super().right(item, completion)


class _Literal(_Weak):
    def right(self, item: Item, completion: str) -> bool:
        return bool(completion == item["answer"])


class _Moody(_Weak):
    _calls: Any = PrivateAttr(default_factory=itertools.count)

    def right(self, item: Item, completion: str) -> bool:
        return next(self._calls) % 400 != 399 and super().right(item, completion)


class _Crowded(_Weak):
    """Right for one caller at a time."""

    _callers: list[int] = PrivateAttr(default_factory=list)

    def right(self, item: Item, completion: str) -> bool:
        self._callers.append(threading.get_ident())
        if threading.current_thread() is not threading.main_thread():
            time.sleep(1e-4)
        alone = len(set(self._callers)) == 1
        self._callers.remove(threading.get_ident())
        return alone and super().right(item, completion)


class _Slow(_Weak):
    timeout: float = 0.02

    def right(self, item: Item, completion: str) -> bool:
        if len(completion) > 20_000:
            time.sleep(0.01)
        return super().right(item, completion)


class _Fragile(_Weak):
    def right(self, item: Item, completion: str) -> bool:
        if "\0" in completion:
            raise ValueError("embedded null byte")
        return super().right(item, completion)


class _Hangs(_Weak):
    _asked: Any = PrivateAttr(default_factory=itertools.count)

    def grade(self, item: Item, completion: str) -> Grade:
        if not self.right(item, completion):
            next(self._asked)
            raise Ungradable(Fault.TIMEOUT, "stopped after 5 s")
        return graded(True)


def test_a_sound_verifier_passes_every_probe() -> None:
    report = examined(task_of(SUMS, _Weak()))
    assert failed(report) == set()
    report.require()
    statuses = {finding.probe: finding.status for finding in report.findings}
    assert statuses.pop("exploits") == statuses.pop("lookup") == "skip"
    assert set(statuses.values()) == {"pass"}
    assert report.rows == len(SUMS)


@pytest.mark.parametrize(
    ("judge", "caught"),
    [
        (_Contains(), {"dump", "hedge"}),
        (_Echoes(), {"echo"}),
        (_Near(), {"junk", "other", "constant"}),
        (_PaysFormat(pay=0.2), {"junk", "echo", "dump", "hedge", "other"}),
        (_PaysFormat(pay=0.8, says=True), {"junk", "echo", "dump", "hedge", "other"}),
        (_WrongRows(), {"oracle"}),
        (_Literal(), {"decorated"}),
        (_Moody(), {"twice"}),
        (_Crowded(), {"parallel"}),
        (_Slow(), {"latency"}),
        (_Fragile(), {"valid"}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Kind) else "",
)
def test_the_probe_made_for_a_weakness_finds_it(judge: Kind, caught: set[str]) -> None:
    report = examined(task_of(NUMBERED, judge))
    assert caught <= failed(report)
    if not isinstance(judge, _Near | _Moody | _Contains):
        assert caught == failed(report)
    with pytest.raises(VerifierRejected, match="verifier weak fails probe"):
        report.require()


def test_the_error_names_probe_rule_score_row_and_input() -> None:
    task = task_of(SUMS, _Echoes())
    first = task.splits["gate"][0]["question"]
    report = examined(task)
    with pytest.raises(VerifierRejected) as refusal:
        report.require()
    assert refusal.value.detail == (
        "verifier weak fails probe echo: repeating the prompt scores at most 0.103, measured 1;"
        f" on gate row 0 the input {first!r} scored 1"
    )


def test_an_input_that_breaks_the_verifier_is_named_with_what_was_raised() -> None:
    found = examined(task_of(SUMS, _Fragile())).finding("valid")
    assert found.worst is not None
    assert found.worst.input == "\0"
    assert "exception: 'ValueError: embedded null byte'" in found.note
    assert found.score is not None
    assert 0.9 < found.score < 1


def test_a_verifier_that_stops_answering_is_given_up() -> None:
    judge = _Hangs()
    report = examined(task_of(SUMS, judge))
    assert "answers" in failed(report)
    assert next(judge._asked) <= 4 * len(SUMS) + PATIENCE  # the decorated answers that came back in time


@pytest.mark.parametrize(
    ("judge", "allow"),
    [
        (_PaysFormat(pay=0.2), {"partial": 0.2}),
        (_PaysFormat(pay=0.4, says=True), {}),
        (_Literal(), {"format_strict": True}),
    ],
)
def test_what_a_task_or_a_kind_says_openly_is_let_pass(judge: Kind, allow: dict[str, Any]) -> None:
    assert failed(examined(task_of(SUMS, judge, allow=allow))) == set()


def labels(common: int, total: int = 100) -> list[dict[str, Any]]:
    return [{"question": f"{n}?", "answer": "yes" if n < common else "no"} for n in range(total)]


def test_one_answer_for_all_rows_may_be_right_for_half_of_them_only() -> None:
    uneven = labels(75)
    report = examined(task_of(uneven, _Weak()))
    assert failed(report) == {"constant"}
    found = report.finding("constant")
    assert found.worst is not None
    assert (found.success, found.worst.input) == (0.75, "yes")
    assert report.majority == 0.75
    assert failed(examined(task_of(uneven, _Weak(), allow={"constant": 0.75}))) == set()
    even = examined(task_of(labels(55), _Weak()))
    assert (even.finding("constant").status, even.passed) == ("warn", True)


def test_all_choices_in_one_completion_must_not_pass() -> None:
    class _Mentions(_Weak):
        def right(self, item: Item, completion: str) -> bool:
            return item["answer"] in completion.split()

    rows = [
        {"question": f"{n}?", "choices": ["a", "b", "c", "d"], "answer": "abcd"[n % 4]} for n in range(100)
    ]
    assert failed(examined(task_of(rows, _Mentions()))) >= {"hedge"}
    assert failed(examined(task_of(rows, {"kind": "choice"}))) == set()


def test_a_copying_task_is_not_an_echo() -> None:
    rows = [{"question": f"word{n}", "answer": f"word{n}"} for n in range(100)]
    report = examined(task_of(rows, _Weak()))
    assert report.passed
    assert report.finding("echo").status == "skip"


def test_the_null_control_is_let_pass_by_its_own_declaration_alone() -> None:
    control = examined(task_of(SUMS, {"kind": "random", "p": 0.5}))
    assert control.passed
    assert "control" in control.finding("scores").note
    assert control.finding("twice").status == "pass"

    class _Undeclared(_Weak):
        def grade(self, item: Item, completion: str) -> Grade:
            return graded(hash((item["question"], len(completion))) % 2 == 0)

    assert "junk" in failed(examined(task_of(SUMS, _Undeclared())))


def test_a_verifier_that_reads_no_completion_has_nothing_to_fool() -> None:
    likely = task_of(SUMS, {"kind": "logprob"}, pass_threshold=-0.7)
    report = examined(likely)
    assert report.passed
    assert report.rows == 0
    mixed = examined(task_of(SUMS, {"kind": "mixed", "verifier": {"kind": "exact"}}))
    assert mixed.passed
    assert mixed.finding("junk").judged > 1_000


def test_slow_verdicts_get_fewer_rows() -> None:
    class _Costly(_Weak):
        @property
        def probe_rows(self) -> int:
            return 10

    report = examined(task_of(SUMS, _Costly()))
    assert report.rows == len(SUMS) == report.finding("oracle").judged
    assert report.finding("echo").judged == 20
