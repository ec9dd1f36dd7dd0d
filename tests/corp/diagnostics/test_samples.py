"""Which pairs are shown, and how long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corp.diagnostics.composition import KINDS
from corp.diagnostics.samples import FILTERS, LONGEST, cut, pair, picked, summary

MESSAGES = [
    {"role": "user", "content": "one?"},
    {"role": "assistant", "content": "1"},
    {"role": "user", "content": "two?"},
]


@given(st.lists(st.sampled_from([*KINDS, None]), max_size=120), st.integers(1, 60))
def test_as_many_as_fit_are_picked_and_no_kind_is_starved(kinds: list[str | None], most: int) -> None:
    chosen = picked(kinds, most)
    valid = [index for index, one in enumerate(kinds) if one is not None]
    assert len(chosen) == min(most, len(valid))
    assert chosen == sorted(set(chosen))
    assert set(chosen) <= set(valid)
    for name in set(FILTERS.values()):
        there = [i for i in valid if FILTERS[str(kinds[i])] == name]
        shown = [i for i in chosen if FILTERS[str(kinds[i])] == name]
        assert len(shown) >= min(len(there), most // 3)
        assert shown == there[: len(shown)]  # the first ones


def test_the_last_message_is_the_prompt_and_the_others_are_counted() -> None:
    found = pair(4, "regression", MESSAGES, "2", ("2", "3"), (True, False))  # type: ignore[arg-type]
    assert (found.prompt, found.turns, found.shown) == ("two?", 2, "regression")
    assert summary(["regression", "unchanged", None], [found]) == {
        "fix": {"shown": 0, "of": 0},
        "regression": {"shown": 1, "of": 1},
        "unchanged": {"shown": 0, "of": 1},
    }


def test_long_texts_say_how_much_is_missing() -> None:
    assert cut("x" * LONGEST) == "x" * LONGEST
    assert cut("x" * (LONGEST + 7)).endswith("… (7 more characters)")
