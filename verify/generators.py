"""Generated data: families of distinct rows, each a function of its number.

A family of n rows maps every number below n to one row, no two alike. A seed orders the numbers by a keyed
permutation, so any count of distinct rows comes without a list of what was drawn, the first ten of a hundred
are the first ten of a thousand, and nothing depends on a library's random generator.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from difflib import get_close_matches
from fractions import Fraction
from math import comb, perm
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from verify.errors import TaskInvalid
from verify.numbering import arrangement, keyed, multiset, permutation
from verify.wording import describe

Row = dict[str, Any]

WORDS = tuple(
    """
    apple bird boat book bread bridge chair clock cloud coat corn desk dog door dream drum fish flag
    fork frog garden gate glass goat grass hand hat horse house key lake lamp leaf lemon milk moon
    mouse nest night nut ocean paper pear pen plum pond queen rain ring river road rock rope rose
    salt sand school shell ship shoe snow spoon star stone sugar sun table tea tent tiger tooth town
    train tree wall water wheel wind wolf wood
    """.split()  # noqa: SIM905 - eighty words on eighty lines help nobody
)


class Family(BaseModel):
    """A generator; its parameters are the model's fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    name: ClassVar[str]

    @property
    @abstractmethod
    def size(self) -> int:
        """How many distinct rows there are."""

    @abstractmethod
    def row(self, number: int, seed: int) -> Row:
        """The row of this number; only what is not part of the question may depend on the seed."""

    def rows(self, seed: int) -> Iterator[Row]:
        """All rows in the seed's order."""
        return (self.row(number, seed) for number in permutation(self.size, seed))


class Larger(Family):
    """`{a, b, answer}`: two different numbers and the larger one."""

    name: ClassVar[str] = "larger"

    low: int = Field(default=10, ge=0)
    high: int = Field(default=99, le=10**9)

    @model_validator(mode="after")
    def _ordered(self) -> Larger:
        if self.low >= self.high:
            raise ValueError("low must be below high")
        return self

    @property
    def size(self) -> int:
        return perm(self.high - self.low + 1, 2)

    def row(self, number: int, seed: int) -> Row:
        first, second = arrangement(number, self.high - self.low + 1, 2)
        a, b = self.low + first, self.low + second
        return {"a": a, "b": b, "answer": str(max(a, b))}


class Addition(Family):
    """`{a, b, question, answer}`: `12+34=` asks for `046`; zero-padded unless told not to."""

    name: ClassVar[str] = "addition"

    digits: int = Field(default=2, ge=1, le=9, description="digits of a and b")
    padded: bool = Field(default=True, description="zero-padded to `digits`, the sum to one digit more")

    @property
    def size(self) -> int:
        return int(100**self.digits)

    def row(self, number: int, seed: int) -> Row:
        a, b = divmod(number, 10**self.digits)
        width = self.digits if self.padded else 0
        total = f"{a + b:0{width + 1}d}"
        return {"a": a, "b": b, "question": f"{a:0{width or 1}d}+{b:0{width or 1}d}=", "answer": total}


class CountdownNumbers(Family):
    """`{numbers, target, answer}`: solvable by construction; `answer` is one solution."""

    name: ClassVar[str] = "countdown"

    count: int = Field(default=3, ge=2, le=6, description="how many numbers are given")
    low: int = Field(default=1, ge=1)
    high: int = Field(default=20, le=1000)
    limit: int = Field(default=100, ge=1, le=10**6, description="largest target")

    @model_validator(mode="after")
    def _reachable(self) -> CountdownNumbers:
        if not self.low < self.high:
            raise ValueError("low must be below high")
        if self.count * self.high > self.limit:
            raise ValueError("limit must be at least count × high, the largest sum")
        return self

    @property
    def size(self) -> int:
        """One row for every combination (with repeats) of numbers."""
        return comb(self.high - self.low + self.count, self.count)

    def row(self, number: int, seed: int) -> Row:
        chosen = [self.low + step for step in multiset(number, self.high - self.low + 1, self.count)]
        dice = _Dice(seed, number)
        target, solution = self._puzzle(chosen, dice)
        return {"numbers": dice.shuffled(chosen), "target": target, "answer": solution}

    def _puzzle(self, numbers: list[int], dice: _Dice) -> tuple[int, str]:
        for _ in range(64):
            value, text = _random_expression(dice.shuffled(numbers), dice)
            if value.denominator == 1 and 1 <= value <= self.limit:
                return int(value), text
        return sum(numbers), " + ".join(map(str, numbers))


class WordFamily(Family):
    """Lists of different short English nouns."""

    count: int = Field(default=3, ge=2, le=6, description="words per list")

    @property
    def size(self) -> int:
        return perm(len(WORDS), self.count)

    def words(self, number: int) -> list[str]:
        return [WORDS[index] for index in arrangement(number, len(WORDS), self.count)]


class SecondItem(WordFamily):
    """`{items, answer}`: a list such as `sun, pear, boat` and its second entry."""

    name: ClassVar[str] = "second_item"

    def row(self, number: int, seed: int) -> Row:
        words = self.words(number)
        return {"items": ", ".join(words), "answer": words[1]}


class ReverseWords(WordFamily):
    """`{words, answer}`: the same words in reverse order."""

    name: ClassVar[str] = "reverse_words"

    def row(self, number: int, seed: int) -> Row:
        words = self.words(number)
        return {"words": " ".join(words), "answer": " ".join(reversed(words))}


class CopyWords(WordFamily):
    """`{words, answer}`: the same words again. A good model is near the ceiling: a guard, not a goal."""

    name: ClassVar[str] = "copy_words"

    def row(self, number: int, seed: int) -> Row:
        words = " ".join(self.words(number))
        return {"words": words, "answer": words}


GENERATORS: dict[str, type[Family]] = {
    family.name: family
    for family in (Larger, Addition, CountdownNumbers, SecondItem, ReverseWords, CopyWords)
}


def generator(name: str, **params: object) -> Family:
    """The generator of this name.

    Raises:
        TaskInvalid: no such generator, or parameters that it does not take.
    """
    family = GENERATORS.get(name)
    if family is None:
        close = get_close_matches(name, GENERATORS, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise TaskInvalid(
            f"there is no generator {name!r}", hint=f"{meant}The generators are {', '.join(GENERATORS)}"
        )
    try:
        return family.model_validate(params)
    except ValidationError as error:
        problems = describe(error, params, name, family)
        accepted = ", ".join(["seed", *family.model_fields])
        raise TaskInvalid(f"generator {name}: {problems}", hint=f"{name} takes {accepted}") from None


class _Dice:
    """Throws keyed by (seed, number): the same for the same row, whatever was thrown for others."""

    def __init__(self, seed: int, number: int) -> None:
        self.seed, self.number, self.throws = seed, number, 0

    def below(self, bound: int) -> int:
        self.throws += 1
        return keyed(self.seed, self.number, self.throws) % bound  # bias below 2^-54 for bounds up to 1000

    def shuffled(self, values: list[int]) -> list[int]:
        left, out = list(values), []
        while left:
            out.append(left.pop(self.below(len(left))))
        return out


def _random_expression(numbers: list[int], dice: _Dice) -> tuple[Fraction, str]:
    """A random tree over the numbers in this order, as its value and its text, fully parenthesised inside."""
    if len(numbers) == 1:
        return Fraction(numbers[0]), str(numbers[0])
    cut = 1 + dice.below(len(numbers) - 1)
    left, left_text = _random_expression(numbers[:cut], dice)
    right, right_text = _random_expression(numbers[cut:], dice)
    sign = "+-*/"[dice.below(4)] if right else "+-*"[dice.below(3)]
    value = {"+": left + right, "-": left - right, "*": left * right}.get(sign)
    text = f"{_wrapped(left_text)} {sign} {_wrapped(right_text)}"
    return (left / right if value is None else value), text


def _wrapped(text: str) -> str:
    return text if text.isdigit() else f"({text})"
