from __future__ import annotations

from typing import ClassVar

import pytest

from verify import verifier
from verify.errors import VerifierRejected
from verify.kinds.kind import Grade, Kind, graded
from verify.validation import ROWS_PER_SPLIT, validate
from verify.verdict import Item

ROWS = tuple({"q": number, "answer": str(number)} for number in range(100))
SPLITS = {"support": ROWS[:90], "gate": ROWS[90:]}


class _Raising(Kind):
    kind: ClassVar[str] = "raising"

    def grade(self, item: Item, completion: str) -> Grade:
        raise RuntimeError("no such library")


class _Flaky(Kind):
    kind: ClassVar[str] = "flaky"

    def grade(self, item: Item, completion: str) -> Grade:
        if completion == "":
            raise RuntimeError("empty")
        return graded(completion == item["answer"])


def test_a_sound_verifier_is_reported_on() -> None:
    report = validate(verifier("exact"), SPLITS)
    assert report.rows == ROWS_PER_SPLIT + 10
    assert report.oracle == 1
    assert report.constants == {"": 0, "0": 1 / report.rows}  # row 0 is answered by "0"
    assert not report.errors


def test_a_verifier_that_fails_on_every_row_is_refused_with_its_reason() -> None:
    with pytest.raises(VerifierRejected, match=r"none of 222 .*exception × 222.*no such library"):
        validate(_Raising(), SPLITS)


def test_a_verifier_that_fails_now_and_then_is_reported() -> None:
    report = validate(_Flaky(), SPLITS)
    assert report.errors == {"exception": report.rows}
    assert report.oracle == 1


def test_a_row_without_the_verifiers_field_is_named_even_far_down() -> None:
    late = (*ROWS[:89], {"q": 89})
    with pytest.raises(VerifierRejected, match=r"support row 89 .*no field 'answer'"):
        validate(verifier("exact"), {**SPLITS, "support": late})


def test_a_row_whose_answer_makes_no_sense_is_named() -> None:
    bad = ({"q": 1, "answer": "many"}, *ROWS[:5])
    with pytest.raises(VerifierRejected, match=r"gate row 0 .*not a number: |gate row 0 .*not a number"):
        validate(verifier("numeric"), {**SPLITS, "gate": bad})


def test_a_verifier_without_an_oracle_reports_none() -> None:
    report = validate(verifier("random"), SPLITS)
    assert report.oracle is None
    assert 0.2 < report.constants[""] < 0.8
