"""`gsm8k`: grade-school word problems whose solutions end in `#### n` (Cobbe et al., arXiv 2110.14168)."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from pydantic import Field

from verify.kinds.kind import Grade, Kind, Ungradable, describe, graded, read
from verify.number import last_number, numbers, parse_number
from verify.verdict import Fault, Item

MARK = "####"
_TAIL_CHARS = 300  # without a mark, the number has to stand near the end
_PARTIAL_WORD = re.compile(r"\S*")


class Gsm8k(Kind):
    """Reads the first number after the last `####`; without that mark, the last number near the end.

    "Near" is within 300 characters.
    Numbers compare by value: `18`, `18.`, `18.00` and `$18` are the same answer.
    """

    kind: ClassVar[str] = "gsm8k"

    strict: bool = Field(default=False, description="without the #### mark the answer is wrong")

    @property
    def fields(self) -> tuple[str, ...]:
        return ("answer",)

    def grade(self, item: Item, completion: str) -> Grade:
        gold = _gold(item)
        marked = MARK in completion
        right = _final_number(completion) == gold
        return graded(right and (marked or not self.strict), format=marked, answer=right)

    def extract(self, item: Item, completion: str) -> str | None:
        found = None if self.strict and MARK not in completion else _final_number(completion)
        return None if found is None else str(found)

    def oracle(self, item: Item) -> str | None:
        answer = str(read(item, "answer"))
        return answer if MARK in answer else f"{MARK} {answer}"


def _final_number(completion: str) -> Fraction | None:
    if MARK in completion:
        line = completion.rpartition(MARK)[2].strip().partition("\n")[0]
        found = numbers(line, fractions=False)
        return found[0] if found else None
    return last_number(_tail(completion), fractions=False)


def _tail(completion: str) -> str:
    """The last characters, without the word that the cut goes through: half a number is another number."""
    if len(completion) <= _TAIL_CHARS:
        return completion
    tail = completion[-_TAIL_CHARS:]
    return tail if completion[-_TAIL_CHARS - 1].isspace() else _PARTIAL_WORD.sub("", tail, count=1)


def _gold(item: Item) -> Fraction:
    answer = read(item, "answer")
    usable = isinstance(answer, str | int | float) and not isinstance(answer, bool)
    gold = _read(str(answer)) if usable else None
    if gold is None:
        raise Ungradable(Fault.ITEM_VALUE, f"the item's 'answer' ends in no number: {describe(answer)}")
    return gold


@lru_cache(maxsize=4096)  # a search asks for the same rows with every candidate
def _read(answer: str) -> Fraction | None:
    return parse_number(answer.rpartition(MARK)[2])
