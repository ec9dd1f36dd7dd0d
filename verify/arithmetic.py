"""Integer arithmetic with + - * / and parentheses: parsed by hand, evaluated exactly.

Grammar (white space between tokens is ignored)::

    equation = sum [ "=" [ "-" ] integer ]
    sum      = product { ("+" | "-") product }
    product  = factor { ("*" | "/") factor }
    factor   = "-" factor | "(" sum ")" | integer

`**`, `//`, decimals, leading zeros and any digit outside 0-9 do not parse. The limits below bound the work:
with at most 64 literals of at most 12 digits no intermediate value exceeds 10^768.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_CHARS = 256
MAX_DEPTH = 24
MAX_DIGITS = 12
MAX_LITERALS = 64

_TOKEN = re.compile(r"[ \t\r\n]*(0|[1-9][0-9]*|[-+*/()=])")


class Malformed(ValueError):
    """Not an expression of the grammar, or beyond its limits."""


@dataclass(frozen=True, slots=True)
class Equation:
    """What was computed: the value, the literals as written, and what stands after `=` if anything."""

    value: Fraction
    literals: tuple[int, ...]
    claimed: int | None


def evaluate(text: str) -> Equation:
    """Parse and evaluate one expression, optionally followed by `= n`.

    Raises:
        Malformed: the text is not in the grammar or too long, too deep or too large.
        ZeroDivisionError: it divides by zero.
    """
    parser = _Parser(_tokens(text))
    value = parser.sum()
    claimed = parser.claim()
    return Equation(value, tuple(parser.literals), claimed)


def _tokens(text: str) -> list[str]:
    text = text.strip(" \t\r\n")
    if len(text) > MAX_CHARS:
        raise Malformed(f"longer than {MAX_CHARS} characters")
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise Malformed(f"unexpected character at {position}")
        tokens.append(match[1])
        position = match.end()
    return tokens


class _Parser:
    """Recursive descent; values are computed on the way up."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = [*tokens, ""]  # the empty token ends every rule
        self.position = 0
        self.depth = 0
        self.literals: list[int] = []

    def sum(self) -> Fraction:
        value = self.product()
        while self.peek() in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self) -> Fraction:
        value = self.factor()
        while self.peek() in ("*", "/"):
            value = value * self.factor() if self.take() == "*" else value / self.factor()
        return value

    def factor(self) -> Fraction:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Malformed(f"nested deeper than {MAX_DEPTH}")
        value = self.signed()
        self.depth -= 1
        return value

    def signed(self) -> Fraction:
        token = self.take()
        if token == "-":
            return -self.factor()
        if token == "(":
            value = self.sum()
            self.expect(")")
            return value
        return self.literal(token)

    def literal(self, token: str) -> Fraction:
        if not token.isdigit():
            raise Malformed(f"a number should stand where {token or 'the end'!r} does")
        if len(token) > MAX_DIGITS or len(self.literals) == MAX_LITERALS:
            raise Malformed(f"more than {MAX_DIGITS} digits or {MAX_LITERALS} numbers")
        self.literals.append(int(token))
        return Fraction(int(token))

    def claim(self) -> int | None:
        """What the text says the result is: `= n` at the end."""
        if self.peek() == "":
            return None
        self.expect("=")
        sign = -1 if self.peek() == "-" else 1
        self.position += sign < 0
        token = self.take()
        if not token.isdigit() or len(token) > MAX_DIGITS:
            raise Malformed("an integer should stand after =")
        self.expect("")
        return sign * int(token)

    def peek(self) -> str:
        return self.tokens[self.position]

    def take(self) -> str:
        token = self.peek()
        self.position += token != ""
        return token

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise Malformed(f"expected {token or 'the end'!r}")
