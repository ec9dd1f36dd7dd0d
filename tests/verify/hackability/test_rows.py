"""Rows that cannot be judged refuse the task before anything else is asked."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import pytest
from pydantic import PrivateAttr

from verify import verifier
from verify.errors import VerifierRejected
from verify.hackability.bench import PATIENCE
from verify.hackability.rows import refuse_bad_rows
from verify.kinds.kind import Grade, Kind, Ungradable, graded
from verify.verdict import Fault, Item

ROWS = tuple({"q": number, "answer": str(number)} for number in range(100))
SPLITS = {"support": ROWS[:90], "gate": ROWS[90:]}


class _Raising(Kind):
    kind: ClassVar[str] = "raising"

    def grade(self, item: Item, completion: str) -> Grade:
        raise RuntimeError("no such library")


class _Partial(Kind):
    kind: ClassVar[str] = "partial"

    def grade(self, item: Item, completion: str) -> Grade:
        if item["q"] < 60:
            raise Ungradable(Fault.NOT_APPLICABLE, "another data source")
        return graded(completion == item["answer"])


class _Hanging(Kind):
    kind: ClassVar[str] = "hanging"
    _calls: Any = PrivateAttr(default_factory=itertools.count)

    def grade(self, item: Item, completion: str) -> Grade:
        next(self._calls)
        raise Ungradable(Fault.TIMEOUT, "stopped after 5 s")


def test_sound_rows_tell_the_time_of_a_verdict() -> None:
    assert refuse_bad_rows(verifier("exact"), SPLITS) > 0


def test_a_verifier_that_fails_on_every_row_is_refused_with_its_reason() -> None:
    with pytest.raises(VerifierRejected, match=r"none of 74 .*exception × 74.*no such library"):
        refuse_bad_rows(_Raising(), SPLITS)


def test_rows_that_are_not_its_matter_are_no_reason() -> None:
    refuse_bad_rows(_Partial(), SPLITS)


def test_one_that_hangs_is_asked_a_few_times_only() -> None:
    judge = _Hanging()
    with pytest.raises(VerifierRejected, match=rf"none of {PATIENCE} .*timeout"):
        refuse_bad_rows(judge, SPLITS)
    assert next(judge._calls) == PATIENCE


def test_a_row_without_the_verifiers_field_is_named_even_far_down() -> None:
    late: tuple[Item, ...] = (*ROWS[:89], {"q": 89})
    with pytest.raises(VerifierRejected, match=r"support row 89 .*no field 'answer'"):
        refuse_bad_rows(verifier("exact"), {**SPLITS, "support": late})


def test_a_row_whose_answer_makes_no_sense_is_named() -> None:
    bad: tuple[Item, ...] = ({"q": 1, "answer": "many"}, *ROWS[:5])
    with pytest.raises(VerifierRejected, match=r"gate row 0 .*not a number"):
        refuse_bad_rows(verifier("numeric"), {**SPLITS, "gate": bad})
