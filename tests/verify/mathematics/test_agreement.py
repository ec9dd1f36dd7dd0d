"""math-verify as an independent scorer: where it can read the style, it judges as kind `math` does."""

from __future__ import annotations

import logging

import pytest

from benchmarks.agreement import DATA, STYLES, answers, compare

UNREADABLE = {"mark", "label", "dressed"}
"""Styles in which math-verify finds no LaTeX: docs/verifiers/math.md says why."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), [("MATH-500", 1), ("GSM8K", 20)])
def test_both_judge_alike(name: str, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not DATA.is_dir():
        pytest.skip("the data sets are not beside the repository (../shared/data)")
    monkeypatch.setattr(logging.root.manager, "disable", logging.WARNING)
    rows = list(answers(name))[::step]
    counts, examples = compare(rows)
    assert counts.total() == len(rows) * len(STYLES)
    apart = {style for style, ours, theirs in counts if ours != theirs}
    assert apart <= UNREADABLE, examples
    assert not [style for style, ours, theirs in counts if theirs and not ours], examples
    for style in set(STYLES) - UNREADABLE:
        assert counts[style, style not in ("wrong", "hedged"), style not in ("wrong", "hedged")] == len(rows)
