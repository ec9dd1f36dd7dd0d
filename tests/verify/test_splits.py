from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.data import SPLITS, FileSource, RowsSource
from verify.errors import DataUnusable, SplitOverlap, TooFewRows
from verify.prompt import PromptSpec
from verify.splits import Splitter

HERE = Path()


def splitter(seed: int = 0, decisive: tuple[str, ...] = ("answer",), user: str = "{q}") -> Splitter:
    return Splitter(PromptSpec(user=user), decisive, seed=seed, folder=HERE)


def rows(numbers: range | list[int]) -> RowsSource:
    return RowsSource(rows=tuple({"q": number, "answer": str(number)} for number in numbers))


def counts(support: int, select: int, gate: int, test: int) -> dict[str, int]:
    return {"support": support, "select": select, "gate": gate, "test": test}


def asked(dealt: dict[str, Any]) -> dict[str, list[int]]:
    return {name: [item["q"] for item in items] for name, items in dealt.items()}


sizes = st.tuples(*[st.integers(1, 12)] * 4)


@given(st.sets(st.integers(0, 999), min_size=48, max_size=80), sizes, st.integers(0, 2**63 - 1), st.randoms())
def test_splits_are_disjoint_sized_and_blind_to_the_order_of_rows(
    numbers: set[int], sizes: tuple[int, int, int, int], seed: int, shuffle: random.Random
) -> None:
    wanted = counts(*sizes)
    dealt = asked(splitter(seed).shared(rows(sorted(numbers)), wanted))
    assert {name: len(items) for name, items in dealt.items()} == wanted
    everything = [number for items in dealt.values() for number in items]
    assert len(set(everything)) == len(everything)
    assert set(everything) <= numbers
    mixed = sorted(numbers)
    shuffle.shuffle(mixed)
    assert asked(splitter(seed).shared(rows(mixed), wanted)) == dealt


def test_the_seed_decides() -> None:
    one, other = (asked(splitter(seed).shared(rows(range(100)), counts(9, 9, 9, 9))) for seed in (1, 2))
    assert one != other
    assert set(one["test"]) != set(other["test"])


def test_the_deal_is_the_documented_one() -> None:
    # Stored scores belong to these rows in this order: another deal would be another format.
    def place(number: int) -> bytes:
        messages = json.dumps([{"content": str(number), "role": "user"}], separators=(",", ":"))
        content = hashlib.sha256(messages.encode()).digest()
        return hashlib.blake2b(content, key=(7).to_bytes(8, "little"), digest_size=16).digest()

    order = sorted(range(20), key=place)
    dealt = asked(splitter(7).shared(rows(range(20)), counts(2, 2, 2, 2)))
    assert dealt == {"test": order[:2], "gate": order[2:4], "select": order[4:6], "support": order[6:8]}
    assert dealt == {"support": [17, 15], "select": [5, 18], "gate": [1, 16], "test": [3, 7]}


def test_larger_search_splits_leave_the_held_out_ones_alone() -> None:
    small = asked(splitter().shared(rows(range(100)), counts(5, 5, 20, 20)))
    large = asked(splitter().shared(rows(range(100)), counts(40, 20, 20, 20)))
    assert (small["gate"], small["test"]) == (large["gate"], large["test"])


def test_repeats_are_dropped_by_what_they_ask_and_the_first_is_kept() -> None:
    source = RowsSource(rows=tuple({"q": n % 8, "answer": str(n % 8), "id": n} for n in range(16)))
    dealt = splitter().shared(source, counts(2, 2, 2, 2))
    kept = [item for items in dealt.values() for item in items]
    assert sorted(item["id"] for item in kept) == list(range(8))
    with pytest.raises(TooFewRows, match=r"8 distinct rows, the splits ask for 9 \(support 3 \+ select 2"):
        splitter().shared(source, counts(3, 2, 2, 2))


def test_rows_that_ask_the_same_and_differ_in_the_answer_are_refused() -> None:
    source = RowsSource(rows=({"q": 1, "answer": "a"}, {"q": 2, "answer": "b"}, {"q": 1, "answer": "c"}))
    with pytest.raises(DataUnusable, match=r"rows\[0\] and rows\[2\] ask the same and differ in answer"):
        splitter().shared(source, counts(1, 1, 1, 1))
    # Fields the verifier does not read may differ.
    with pytest.raises(TooFewRows, match="2 distinct rows"):
        splitter(decisive=()).shared(source, counts(1, 1, 1, 1))


def test_too_few_rows_and_none_are_told_apart() -> None:
    with pytest.raises(TooFewRows, match="3 distinct rows, the splits ask for 4"):
        splitter().shared(rows(range(3)), counts(1, 1, 1, 1))
    with pytest.raises(DataUnusable, match="no rows"):
        splitter().shared(rows([]), counts(1, 1, 1, 1))


def test_a_row_without_a_field_of_the_template_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"q": 1}\n{"p": 2}\n', encoding="utf-8")
    judge = Splitter(PromptSpec(user="{q}"), (), seed=0, folder=tmp_path)
    with pytest.raises(DataUnusable, match=r"d\.jsonl, line 2 has no field 'q'.*it has p"):
        judge.shared(FileSource(path="d.jsonl"), counts(1, 1, 1, 1))


def separate(*parts: range | list[int], wanted: dict[str, int] | None = None) -> dict[str, Any]:
    sources = dict(zip(SPLITS, map(rows, parts), strict=True))
    return asked(splitter().separate(sources, wanted or counts(1, 1, 1, 1)))


def test_separate_sources_stay_separate() -> None:
    dealt = separate(range(10), range(10, 20), range(20, 30), range(30, 40), wanted=counts(3, 4, 5, 10))
    assert [len(items) for items in dealt.values()] == [3, 4, 5, 10]
    for start, items in zip((0, 10, 20, 30), dealt.values(), strict=True):
        assert set(items) <= set(range(start, start + 10))


@given(st.permutations(SPLITS), st.integers(0, 9))
def test_the_same_content_in_two_sources_is_refused_wherever_it_stands(order: list[str], place: int) -> None:
    sources = {name: list(range(100 * index, 100 * index + 10)) for index, name in enumerate(SPLITS)}
    first, second = sorted(order[:2], key=SPLITS.index)
    sources[second][place] = sources[first][9 - place]
    with pytest.raises(SplitOverlap) as caught:
        separate(*sources.values())
    assert first in caught.value.detail
    assert second in caught.value.detail
    assert repr(str(sources[first][9 - place])) in caught.value.detail


def test_overlap_is_by_what_is_asked_not_by_the_row() -> None:
    sources = {name: RowsSource(rows=({"q": index, "answer": "1"},)) for index, name in enumerate(SPLITS)}
    sources["test"] = RowsSource(rows=({"q": 0, "answer": "1", "source": "elsewhere"},))
    with pytest.raises(SplitOverlap):
        splitter().separate(sources, counts(1, 1, 1, 1))


def test_a_source_of_its_own_that_is_too_small_names_its_split() -> None:
    with pytest.raises(TooFewRows, match="split gate asks for 3"):
        separate(range(5), range(5, 10), range(10, 12), range(20, 30), wanted=counts(1, 1, 3, 1))
