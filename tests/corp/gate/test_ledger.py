"""The record of looks: what it lets through, whatever order of uses is tried."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corp.errors import GateSpent
from corp.gate.ledger import Ledger, enter, read

looks = st.tuples(
    st.sampled_from(["gate", "round 1", "round 2"]),
    st.sampled_from([{"a": "1"}, {"b": "2"}, {"a": "2"}, {"a": "1", "b": "2"}, {"b": "2", "a": "1"}]),
    st.sampled_from([0.01, 0.02, 0.025, 0.05]),
)


@given(st.lists(looks, max_size=12))
def test_each_look_is_made_once_for_one_question_and_all_together_spend_at_most_alpha(uses: list) -> None:
    book, made = Ledger(split="rows", alpha=0.05), {}
    for name, candidates, level in uses:
        question = (list(candidates.items()), level)
        try:
            book = book.entered(name, candidates, level)
        except GateSpent:
            repeated = name in made and made[name] != question
            assert repeated or math.fsum(spent for _, spent in made.values()) + level > 0.05
        else:
            assert made.setdefault(name, question) == question
        assert math.fsum(look.level for look in book.looks) <= 0.05 * (1 + 1e-9)
    assert [look.round for look in book.looks] == list(range(1, len(made) + 1))


def test_ten_equal_shares_fit_despite_rounding() -> None:
    book = Ledger(split="rows", alpha=0.05)
    for number in range(10):
        book = book.entered(f"look {number}", {"a": "1"}, 0.05 / 10)
    with pytest.raises(GateSpent):
        book.entered("look 10", {"a": "1"}, 0.001)


def test_a_look_survives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "gate-use.json"
    enter(path, read(path, "rows", 0.05), "gate", {"a": "1"}, 0.05)
    assert read(path, "rows", 0.05).looks[0].candidates == {"a": "1"}


@pytest.mark.parametrize(("split", "alpha"), [("other rows", 0.05), ("rows", 0.1)])
def test_a_record_of_other_rows_or_another_level_is_refused(tmp_path: Path, split: str, alpha: float) -> None:
    path = tmp_path / "gate-use.json"
    enter(path, read(path, "rows", 0.05), "gate", {"a": "1"}, 0.05)
    with pytest.raises(GateSpent, match="other rows or of another level"):
        read(path, split, alpha)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"split": "rows"}', '{"split":"rows","alpha":0.05,"x":1}']
)
def test_a_damaged_record_counts_as_used(tmp_path: Path, content: str) -> None:
    (tmp_path / "gate-use.json").write_text(content)
    with pytest.raises(GateSpent, match="what was used is not known"):
        read(tmp_path / "gate-use.json", "rows", 0.05)
