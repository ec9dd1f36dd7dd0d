"""What a gain is made of: problems solved that were not, answers that only became readable, and losses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from verify.verdict import Item, Verifier

Flags = npt.NDArray[np.bool_]

REASONING, FORMAT, UNCLEAR = "reasoning_fix", "format_fix", "unclear_fix"
REGRESSION, UNCHANGED = "regression", "unchanged"
KINDS = (REASONING, FORMAT, UNCLEAR, REGRESSION, UNCHANGED)


@dataclass(frozen=True, slots=True)
class Composition:
    """How many of n prompts, both verdicts valid, are what.

    Attributes:
        n: prompts.
        reasoning_fix: failed by the base, passed now; the base's text does not hold the right answer.
        format_fix: failed by the base, passed now; the base's text did hold the right answer, in a form that
            the verifier does not accept. An upper bound: a text that names several answers counts.
        unclear_fix: failed by the base, passed now; the task has no stated answer to look for.
        regression: passed by the base, failed now.
        unchanged: the same outcome.
    """

    n: int
    reasoning_fix: int
    format_fix: int
    unclear_fix: int
    regression: int
    unchanged: int


def composition(kinds: Sequence[str | None]) -> Composition:
    """The counts of `kinds`; None stands for a prompt without two valid verdicts."""
    counts = Counter(kind for kind in kinds if kind is not None)
    return Composition(n=counts.total(), **{kind: counts[kind] for kind in KINDS})


def classified(
    verifier: Verifier, items: Sequence[Item], texts: Sequence[str], before: Flags, after: Flags, both: Flags
) -> list[str | None]:
    """The kind of each prompt, None where a verdict is not valid.

    Args:
        texts: the base's completions.
        before, after: whether base and candidate passed, shape (M,).
        both: whether both verdicts are valid, shape (M,).
    """
    return [
        kind(verifier, item, text, bool(old), bool(new)) if valid else None
        for item, text, old, new, valid in zip(items, texts, before, after, both, strict=True)
    ]


def kind(verifier: Verifier, item: Item, text: str, before: bool, after: bool) -> str:
    """One of KINDS for one prompt."""
    if before == after:
        return UNCHANGED
    if before:
        return REGRESSION
    expected = right_answer(verifier, item)
    if expected is None:
        return UNCLEAR
    return FORMAT if holds(verifier, item, text, expected) else REASONING


def right_answer(verifier: Verifier, item: Item) -> str | None:
    """A completion that should pass, None where the item holds none."""
    try:
        return verifier.oracle(item)
    except Exception:  # an item that no completion can answer
        return None


def holds(verifier: Verifier, item: Item, text: str, expected: str) -> bool:
    """Whether a text has the right answer in it, whatever its form.

    Either the answer that the verifier reads out of it is the right one, or the right answer, as the oracle
    or the verifier spells it, stands in it between word boundaries.
    """
    key = verifier.answer(item, expected)
    if key is not None and verifier.answer(item, text) == key:
        return True
    return any(_stands_in(spelling.strip(), text) for spelling in {expected, key or expected})


def _stands_in(answer: str, text: str) -> bool:
    if not answer:
        return False
    pattern = rf"(?<!\w){re.escape(answer)}(?!\w)"
    return re.search(pattern, text, re.IGNORECASE) is not None
