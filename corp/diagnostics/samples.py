"""Pairs of completions, base and merged, for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from corp.diagnostics.composition import FORMAT, REASONING, REGRESSION, UNCHANGED, UNCLEAR
from verify.prompt import Message

MOST = 200
"""Pairs kept: what a reader and a browser can take."""

LONGEST = 4000
"""Characters kept of a text."""

FILTERS = {REASONING: "fix", FORMAT: "fix", UNCLEAR: "fix", REGRESSION: "regression", UNCHANGED: "unchanged"}


@dataclass(frozen=True, slots=True)
class Pair:
    """One prompt and what both models wrote.

    Attributes:
        index: of the prompt in its split.
        kind: one of `corp.diagnostics.composition.KINDS`.
        shown: which filter shows it: fix, regression or unchanged.
        prompt: the last message.
        turns: messages before it.
        expected: a right answer, None where the task states none.
        base, merged: completions.
        base_passed, merged_passed: the verdicts.
    """

    index: int
    kind: str
    shown: str
    prompt: str
    turns: int
    expected: str | None
    base: str
    merged: str
    base_passed: bool
    merged_passed: bool


def pair(
    index: int,
    kind: str,
    messages: Sequence[Message],
    expected: str | None,
    texts: tuple[str, str],
    passed: tuple[bool, bool],
) -> Pair:
    """A pair with its long texts cut."""
    return Pair(
        index=index,
        kind=kind,
        shown=FILTERS[kind],
        prompt=cut(messages[-1]["content"]),
        turns=len(messages) - 1,
        expected=None if expected is None else cut(expected),
        base=cut(texts[0]),
        merged=cut(texts[1]),
        base_passed=passed[0],
        merged_passed=passed[1],
    )


def cut(text: str) -> str:
    """At most 4,000 characters, and how many are missing."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]} … ({len(text) - LONGEST} more characters)"


def picked(kinds: Sequence[str | None], most: int = MOST) -> list[int]:
    """Which prompts are shown: a third for each filter, the first ones; others take what one leaves."""
    groups = [
        [i for i, kind in enumerate(kinds) if kind is not None and FILTERS[kind] == name]
        for name in ("fix", "regression", "unchanged")
    ]
    chosen: list[int] = []
    for left, group in zip(range(len(groups), 0, -1), sorted(groups, key=len), strict=True):
        chosen += group[: (most - len(chosen)) // left]
    return sorted(chosen)


def summary(kinds: Sequence[str | None], pairs: Sequence[Pair]) -> dict[str, Any]:
    """Per filter: how many pairs are shown, of how many."""
    names = [FILTERS[kind] for kind in kinds if kind is not None]
    shown = [pair.shown for pair in pairs]
    return {
        name: {"shown": shown.count(name), "of": names.count(name)}
        for name in ("fix", "regression", "unchanged")
    }


def plain(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    return [asdict(pair) for pair in pairs]
