"""The shape of an answer: number, words, expression, or a row, set, matrix, union or equation of those."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Shape(StrEnum):
    NUMBER = "number"  # exact and rational
    WORDS = "words"
    EXPRESSION = "expression"
    ROW = "row"  # in order, with its brackets: a point, an interval
    SET = "set"  # in any order: a set, or values with commas between them
    MATRIX = "matrix"  # of rows
    UNION = "union"
    EQUATION = "equation"  # a name and its value


LEAVES = frozenset({Shape.NUMBER, Shape.WORDS, Shape.EXPRESSION})


@dataclass(frozen=True, slots=True)
class Form:
    """A leaf (number, words, expression) has text; other shapes have parts, and a row's text is its brackets.

    `str` is the one spelling: what has the same one is the same answer.
    """

    shape: Shape
    text: str = ""
    parts: tuple[Form, ...] = ()

    def __str__(self) -> str:
        inner = [str(part) for part in self.parts]
        match self.shape:
            case Shape.ROW:
                return f"{self.text[0]}{', '.join(inner)}{self.text[1]}"
            case Shape.SET:
                return rf"\{{{', '.join(inner)}\}}"
            case Shape.MATRIX:
                return r"\begin{pmatrix}" + r"\\".join(map(_cells, self.parts)) + r"\end{pmatrix}"
            case Shape.UNION:
                return r"\cup ".join(inner)
            case Shape.EQUATION:
                return "=".join(inner)
            case _:
                return self.text


def _cells(row: Form) -> str:
    return "&".join(map(str, row.parts))
