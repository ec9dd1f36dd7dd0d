"""What equals what. Numbers, words and structure are decided here; expressions are handed on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from verify.mathematics.form import LEAVES, Form, Shape

Algebra = Callable[[str, str], bool]
"""Whether two expressions in LaTeX, the right one first, are the same."""

_ORDERED = (Shape.ROW, Shape.MATRIX)


@dataclass(frozen=True, slots=True)
class Equality:
    """Compares a right answer with another one.

    Structure counts: a point is not an expression, (1, 2) is not [1, 2], and of an unordered pair each
    member has to be found. A value may be given with or without its name, `x=5` or `5`, but not with another.
    """

    algebra: Algebra
    tol: Fraction = Fraction(0)
    rel_tol: Fraction = Fraction(0)

    def __call__(self, gold: Form, found: Form) -> bool:
        """Whether `found` is right. Raises what `algebra` raises."""
        if gold == found:
            return True
        if Shape.EQUATION in (gold.shape, found.shape):
            return self._equations(gold, found)
        if gold.shape in LEAVES and found.shape in LEAVES:
            return self._leaves(gold, found)
        if (gold.shape, gold.text, len(gold.parts)) != (found.shape, found.text, len(found.parts)):
            return False
        if gold.shape in _ORDERED:
            return all(map(self, gold.parts, found.parts))
        return self._matched(gold.parts, found.parts)

    def _equations(self, gold: Form, found: Form) -> bool:
        named = gold.shape == found.shape
        if named and gold.parts[0] != found.parts[0]:
            simple = gold.parts[1].shape in LEAVES and found.parts[1].shape in LEAVES
            return simple and self.algebra(str(gold), str(found))  # y=2x is x=\frac{y}{2}
        if found.shape == Shape.EXPRESSION and "=" in found.text:
            return self.algebra(str(gold), found.text)  # y=2x is y-2x=0
        if gold.shape == Shape.EXPRESSION and "=" in gold.text:
            return self.algebra(gold.text, str(found))
        return self(_value(gold), _value(found))

    def _leaves(self, gold: Form, found: Form) -> bool:
        if Shape.WORDS in (gold.shape, found.shape):
            return False
        if gold.shape == found.shape == Shape.NUMBER:
            return self._close(Fraction(gold.text), Fraction(found.text))
        return self.algebra(gold.text, found.text)

    def _close(self, gold: Fraction, found: Fraction) -> bool:
        return abs(gold - found) <= max(self.tol, self.rel_tol * abs(gold))

    def _matched(self, gold: tuple[Form, ...], found: tuple[Form, ...]) -> bool:
        """Whether each part of one has its own in the other; first come, first served."""
        left = list(found)
        for part in gold:
            place = next((place for place, other in enumerate(left) if self(part, other)), None)
            if place is None:
                return False
            del left[place]
        return True


def _value(form: Form) -> Form:
    return form.parts[1] if form.shape == Shape.EQUATION else form
