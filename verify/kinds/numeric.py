"""`numeric`: the completion's number is the item's number, exactly or within a tolerance."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field

from verify.kinds.kind import Grade, Kind, Ungradable, describe, graded, read
from verify.number import last_number, parse_number
from verify.verdict import Fault, Item


class Numeric(Kind):
    """Passes when |x − answer| ≤ max(tol, rel_tol · |answer|), in exact rational arithmetic."""

    kind: ClassVar[str] = "numeric"

    field: str = Field(default="answer", description="item field with the number")
    tol: float = Field(default=0.0, ge=0, description="absolute tolerance")
    rel_tol: float = Field(default=0.0, ge=0, description="tolerance relative to the answer")
    which: Literal["last", "only"] = Field(
        default="last", description="read the last number of the completion, or accept nothing but a number"
    )

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field,)

    @property
    def format_strict(self) -> bool:
        return self.which == "only"

    def grade(self, item: Item, completion: str) -> Grade:
        gold = read_number(item, self.field)
        found = self._found(completion)
        return graded(found is not None and self._close(found, gold), format=found is not None)

    def extract(self, item: Item, completion: str) -> str | None:
        # Tolerances play no part: which numbers lie close together depends on the right one.
        found = self._found(completion)
        return None if found is None else str(found)

    def oracle(self, item: Item) -> str | None:
        return str(read(item, self.field))

    def _found(self, completion: str) -> Fraction | None:
        return parse_number(completion) if self.which == "only" else last_number(completion)

    def _close(self, found: Fraction, gold: Fraction) -> bool:
        absolute, relative = self._tolerances
        return abs(found - gold) <= max(absolute, relative * abs(gold))

    @cached_property
    def _tolerances(self) -> tuple[Fraction, Fraction]:
        # repr gives the decimal that the user wrote: 0.3 is 3/10 here, not the double just below it
        return Fraction(repr(self.tol)), Fraction(repr(self.rel_tol))


def read_number(item: Item, name: str) -> Fraction:
    """The item's field as a number."""
    value = read(item, name)
    usable = isinstance(value, str | int | float) and not isinstance(value, bool)
    number = parse_number(str(value)) if usable else None
    if number is None:
        raise Ungradable(Fault.ITEM_VALUE, f"the item's {name!r} is {describe(value)}, not a number")
    return number
