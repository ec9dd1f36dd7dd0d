from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify import verifier

DATA = Path(__file__).parents[4] / "shared" / "data" / "gsm8k"


@pytest.mark.parametrize(
    ("answer", "completion", "value"),
    [
        ("9*2 = <<9*2=18>>18\n#### 18", "so\n#### 18", 1),
        ("#### 18", "#### 18.", 1),  # known readers keep the dot and score 0
        ("#### 18", "#### 18.00", 1),
        ("#### 18", "####18", 1),
        ("#### 18", "#### $18", 1),
        ("#### 18", "#### **18**", 1),
        ("#### 18", "#### 18 dollars", 1),
        ("#### 1,234", "#### $1,234", 1),
        ("#### 1234", "#### 1,234.0", 1),
        ("#### -5", "#### −5", 1),
        ("18", "#### 18", 1),
        (18, "#### 18", 1),
        ("#### 18", "The answer is 18.", 1),
        ("#### 18", "#### 17\n#### 18", 1),
        ("#### 18", "#### 18\nQuestion: 5 more", 1),
        ("#### 18", "#### 18\n#### 17", 0),
        ("#### 18", "18\n#### ", 0),
        ("#### 18", "18\n#### none", 0),
        ("#### 18", "#### 9*2", 0),
        ("#### 18", "#### 36/2", 0),
        ("#### 18", "#### 1 8", 0),
        ("#### 18", "#### 18-20", 0),
        ("#### 18", "#### １８", 0),
        ("#### 18", "18 of 20", 0),
        ("#### 18", "", 0),
        ("#### 18", "#### 118", 0),
    ],
)
def test_the_number_after_the_mark_counts(answer: object, completion: str, value: float) -> None:
    verdict = verifier("gsm8k")({"answer": answer}, completion)
    assert (verdict.value, verdict.valid, verdict.error) == (value, True, None)


def test_strict_asks_for_the_mark_and_components_tell_why() -> None:
    item = {"answer": "#### 18"}
    loose, strict = verifier("gsm8k"), verifier("gsm8k", strict=True)
    assert loose(item, "It is 18").value == 1
    verdict = strict(item, "It is 18")
    assert verdict.value == 0
    assert verdict.components == {"format": 0, "answer": 1}
    assert strict(item, "#### 17").components == {"format": 1, "answer": 0}
    assert strict(item, "#### 18").value == 1


def test_without_a_mark_only_the_end_is_read_and_no_number_is_cut_in_half() -> None:
    judge = verifier("gsm8k")
    assert judge({"answer": "18"}, "18 " + "x" * 299).value == 0
    assert judge({"answer": "18"}, "18 " + "x" * 296).value == 1
    # The cut goes through 1234, of which 34 would be left.
    assert judge({"answer": "34"}, "1234 " + "x" * 297).value == 0
    assert judge({"answer": "34"}, "12 34 " + "x" * 297).value == 1


@pytest.mark.parametrize("answer", ["no number", "#### ", "#### many", [], True])
def test_an_item_without_a_number_is_not_a_wrong_answer(answer: object) -> None:
    verdict = verifier("gsm8k")({"answer": answer}, "#### 18")
    assert (verdict.valid, verdict.error) == (False, "item_value")


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_a_number_is_right_in_every_spelling_and_any_other_is_wrong(gold: int, other: int) -> None:
    judge, item = verifier("gsm8k"), {"answer": f"#### {gold}"}
    for spelled in (f"{gold}", f"{gold:,}", f"{gold}.", f"{gold}.00", f"{gold:,}.0"):
        assert judge(item, f"text 7 #### {spelled}").value == 1
        assert judge(item, f"text 7 is {spelled}").value == 1
    assert judge(item, f"#### {other}").value == float(other == gold)


@pytest.mark.parametrize("name", ["train.jsonl", "test.jsonl"])
def test_every_gold_answer_is_right_and_every_mutated_one_wrong(name: str) -> None:
    if not DATA.is_dir():
        pytest.skip("the GSM8K files are not beside the repository (../shared/data/gsm8k)")
    judge = verifier("gsm8k")
    rows = [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    for row in rows:
        number = row["answer"].rpartition("####")[2].strip()
        assert judge(row, row["answer"]).value == 1, row
        assert judge(row, f"The answer is {number}.").value == 1, row
        assert judge(row, f"#### ${number}.00").value == (0 if "." in number else 1), row
        for wrong in (f"{number}1", f"1{number}", f"-{number}", f"{number}.5"):
            verdict = judge(row, f"#### {wrong}")
            assert verdict.valid
            assert verdict.value == float(number in ("0",) and wrong == "-0"), (row, wrong)
