"""Completions that answer nothing, as data."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Junk:
    """One input for every row.

    Attributes:
        text: the completion.
        answers: whether it could be somebody's right answer; blank texts and rubbish never are.
        long: whether a few rows are enough.
    """

    text: str
    answers: bool = False
    long: bool = False


_DEEP = 2_000  # levels; Python's parsers give up at about 1,000

JUNK: tuple[Junk, ...] = (
    Junk(""),
    Junk(" \n\t"),
    Junk("None", answers=True),
    Junk("null", answers=True),
    Junk("0", answers=True),
    Junk("1", answers=True),
    Junk("True", answers=True),
    Junk("yes", answers=True),
    Junk("{}", answers=True),
    Junk("[]", answers=True),
    Junk("I do not know."),
    Junk("nan"),
    Junk("inf"),
    Junk("\0"),
    Junk("\ufeff\u200b\u202e"),
    Junk("\ud800"),  # half of a pair, as some tokenizers leave at the end of a completion
    Junk("🙂👩‍👩‍👧🏴‍☠️"),
    Junk("#### "),
    Junk("<answer></answer>"),
    Junk("\\boxed{}"),
    Junk("```python\n```"),
    Junk('{"answer": '),
    Junk(json.dumps({"answer": None, "score": 1.0, "success": True, "value": 1.0}), answers=True),
    Junk("\\frac{\\frac{\\frac{x}{}}{}}{\\sqrt{"),
    Junk("Answer:"),
    Junk("Answer: A or B or C or D"),
    Junk("x" * 2**20, long=True),
    Junk("9" * 2**20, long=True),
    Junk("[" * _DEEP + "]" * _DEEP, long=True),
    Junk("\\boxed{" * _DEEP + "}" * _DEEP, long=True),
    Junk("a" * 30_000 + "!", long=True),
)
"""`nan`, `inf` and the braces: what a scorer of numbers, of JSON or of LaTeX may trip over."""
