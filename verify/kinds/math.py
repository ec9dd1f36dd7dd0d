"""`math`: the final answer equals the item's, as mathematics and not as text (MATH, AIME, …)."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from verify.child import Child, import_paths
from verify.errors import ExtraMissing
from verify.kinds.kind import Grade, Kind, Ungradable, describe, graded, read_text
from verify.mathematics.equality import Equality
from verify.mathematics.final import Stated, final_answer
from verify.mathematics.form import Form, Shape
from verify.mathematics.reading import read
from verify.verdict import Fault, Item

_SCRIPT = Path(__file__).parents[1] / "children" / "algebra.py"
_INTEGER = re.compile(r"[+-]?[0-9]+\.?")


class Math(Kind):
    """Reads the last box, the last `####` or the last "answer is"; compares exactly, expressions by algebra.

    Algebra happens in a child process that is stopped after `timeout` CPU seconds; the verdict is then not
    valid, with error `timeout`. With `form` other than `any` there is none of it.

    Raises:
        ExtraMissing: at construction, when math-verify is needed and not installed.
    """

    kind: ClassVar[str] = "math"

    field: str = Field(
        default="answer", description="item field with the answer, alone or at a solution's end"
    )
    strict: bool = Field(default=False, description="only a box or the #### mark states an answer")
    form: Literal["any", "number", "integer"] = Field(
        default="any",
        description="what an answer may be: a rational number, or digits with a sign, or anything",
    )
    tol: float = Field(default=0.0, ge=0, description="absolute tolerance of numbers")
    rel_tol: float = Field(default=0.0, ge=0, description="tolerance of numbers relative to the answer")
    timeout: float = Field(default=5.0, gt=0, le=60, description="CPU seconds per comparison")
    _child: Child = PrivateAttr(default_factory=lambda: Child(_SCRIPT, import_paths()))

    @model_validator(mode="after")
    def _installed(self) -> Self:
        if self.form == "any" and find_spec("math_verify") is None:
            raise ExtraMissing("verifier math", "math")
        return self

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field,)

    def grade(self, item: Item, completion: str) -> Grade:
        gold = self._gold(item)
        stated = self._stated(completion)
        found = None if stated is None else self._read(stated)
        right = found is not None and self._equal(gold, found)
        return graded(right, format=found is not None, marked=stated is not None and stated.marked)

    def extract(self, item: Item, completion: str) -> str | None:
        # Tolerances and algebra play no part: they need the right answer.
        stated = self._stated(completion)
        found = None if stated is None else self._read(stated)
        return None if found is None else str(found)

    def oracle(self, item: Item) -> str | None:
        return rf"\boxed{{{_final(read_text(item, self.field))}}}"

    def close(self) -> None:
        self._child.close()

    def _stated(self, completion: str) -> Stated | None:
        stated = final_answer(completion)
        return None if stated is None or (self.strict and not stated.marked) else stated

    def _read(self, stated: Stated) -> Form | None:
        found = read(stated.text)
        if found is None or self.form == "any":
            return found
        whole = self.form == "number" or _INTEGER.fullmatch(stated.text.strip("$ "))
        return found if found.shape == Shape.NUMBER and whole else None

    def _gold(self, item: Item) -> Form:
        text = read_text(item, self.field)
        gold = _form(text)
        if gold is None or (self.form != "any" and gold.shape != Shape.NUMBER):
            raise Ungradable(
                Fault.ITEM_VALUE,
                f"the item's {self.field!r} is no answer of form {self.form}: {describe(text)}",
            )
        return gold

    @cached_property
    def _equal(self) -> Equality:
        # repr gives the decimal that the user wrote: 0.3 is 3/10 here, not the double just below it
        return Equality(self._same, Fraction(repr(self.tol)), Fraction(repr(self.rel_tol)))

    def _same(self, gold: str, found: str) -> bool:
        question = {"gold": gold, "found": found, "tol": repr(self.tol), "rel_tol": repr(self.rel_tol)}
        return bool(self._child.ask(question, self.timeout)["same"])


def _final(text: str) -> str:
    """A solution's final answer, or the text itself where it states none."""
    stated = final_answer(text)
    return text if stated is None else stated.text


@lru_cache(maxsize=4096)  # a search asks for the same rows with every candidate
def _form(text: str) -> Form | None:
    return read(_final(text))
