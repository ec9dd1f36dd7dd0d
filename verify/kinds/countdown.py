"""`countdown`: reach the target from the given numbers with + - * / and parentheses."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from pydantic import Field

from verify.arithmetic import MAX_DIGITS, Equation, Malformed, evaluate
from verify.kinds.kind import Grade, Kind, Ungradable, describe, graded, read
from verify.verdict import Fault, Item

_OPEN, _CLOSE = "<answer>", "</answer>"


class Countdown(Kind):
    """Judges the expression in the last `<answer>…</answer>`, by exact rational arithmetic.

    Each number given may be used once. The expression may state its result (`(1+2)*3 = 9`); a wrong
    statement makes the answer wrong. Division by zero is a wrong answer.
    """

    kind: ClassVar[str] = "countdown"

    use_all: bool = Field(default=True, description="every given number must be used")

    @property
    def fields(self) -> tuple[str, ...]:
        return ("numbers", "target")

    def grade(self, item: Item, completion: str) -> Grade:
        given, target = _given(item), _integer(read(item, "target"), "target")
        try:
            equation = evaluate(_answer(completion))
        except Malformed:
            return graded(False, format=False, numbers=False)
        except ZeroDivisionError:
            return graded(False, format=True, numbers=False)
        fair = self._uses(Counter(equation.literals), Counter(given))
        return graded(fair and _reaches(equation, target), format=True, numbers=fair)

    def extract(self, item: Item, completion: str) -> str | None:
        """The value of an expression that keeps to the rules; a claim that contradicts it is no answer."""
        equation = evaluate(_answer(completion))
        fair = self._uses(Counter(equation.literals), Counter(_given(item)))
        return str(equation.value) if fair and equation.claimed in (None, equation.value) else None

    def oracle(self, item: Item) -> str | None:
        solution = item.get("answer")
        return None if solution is None else f"{_OPEN}{solution}{_CLOSE}"

    def _uses(self, used: Counter[int], given: Counter[int]) -> bool:
        return used == given if self.use_all else used <= given


def _answer(completion: str) -> str:
    end = completion.rfind(_CLOSE)
    start = completion.rfind(_OPEN, 0, max(end, 0))
    if start < 0:
        raise Malformed("no <answer>…</answer>")
    return completion[start + len(_OPEN) : end]


def _reaches(equation: Equation, target: int) -> bool:
    return equation.value == target and equation.claimed in (None, target)


def _given(item: Item) -> list[int]:
    values = read(item, "numbers")
    if not isinstance(values, list | tuple) or not values:
        raise Ungradable(
            Fault.ITEM_VALUE, f"the item's 'numbers' is {describe(values)}, not a list of integers"
        )
    given = [_integer(value, "numbers") for value in values]
    if min(given) < 0:
        raise Ungradable(
            Fault.ITEM_VALUE, "the item's 'numbers' holds a negative number, which nobody can write"
        )
    return given


def _integer(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 10**MAX_DIGITS:
        raise Ungradable(
            Fault.ITEM_VALUE,
            f"the item's {name!r} holds {describe(value)}, not an integer of at most {MAX_DIGITS} digits",
        )
    return value
