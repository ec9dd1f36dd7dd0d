"""Text to form. Numbers are exact; what is no number, no word and no collection of them is an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verify.mathematics.brackets import inside, levels, split, tokens_of
from verify.mathematics.form import Form, Shape
from verify.mathematics.latex import Unreadable, normalise
from verify.mathematics.rational import rational, without_decimals
from verify.mathematics.units import without_unit
from verify.number import parse_number

MAX_CHARS = 1_000  # of an answer; the longest of MATH has some 100
_MAX_PARTS = 64
_MAX_DEPTH = 8
_MAX_OPEN = 40  # brackets; reading a hundred takes algebra seconds

_MATRIX = re.compile(r"\\begin\{([pb]?matrix)\}(?P<rows>.*)\\end\{\1\}")
_WORDS = re.compile(r"[A-Za-z0-9' -]*(?<![A-Za-z])[A-Za-z]{3,}[A-Za-z0-9' -]*")
_NAME = re.compile(r"(?:\\[A-Za-z]+|[A-Za-z]+)(?:_\{\w+\})?(?:\([A-Za-z;,]+\))?|\([A-Za-z;,]+\)")
_MEMBER = re.compile(r"[A-Za-z]\\in ?(?=.)")
_RELATION = re.compile(r"\\(?:leq|geq|neq|in)(?![A-Za-z])|[<>]")
_LITERAL = re.compile(r"[0-9A-F]+_\{[0-9]+\}|.*[0-9] [0-9].*")


def read(text: str) -> Form | None:
    """The form of an answer.

    Args:
        text: one answer, as a box or a sentence's end holds it, with or without `$` and its unit.

    Returns: None where it is blank, longer than `MAX_CHARS` or no answer in any spelling. `str` of a form is
        read as the form again; where that fails, as with junk whose brackets match nothing, there is none.
    """
    number = parse_number(text)
    if number is not None:  # as most answers are; what follows comes to the same in ten times the time
        return Form(Shape.NUMBER, str(number))
    form = _read(text)
    stable = form is None or form.shape == Shape.NUMBER or _read(str(form)) == form
    return form if stable else None


def _read(text: str) -> Form | None:
    if len(text) > MAX_CHARS:
        return None
    try:
        spelled = normalise(text.strip().strip("*").strip())
    except Unreadable:
        return None
    if max(levels(tokens_of(spelled)), default=0) > _MAX_OPEN:
        return None
    return _list(spelled.strip(";: ").rstrip(".;: "), 0)


def _list(text: str, depth: int) -> Form | None:
    """One value, or several with commas between them."""
    forms = {form for part in _items(text) for form in _members(part, depth)}
    if not forms or len(forms) > _MAX_PARTS:
        return None
    return next(iter(forms)) if len(forms) == 1 else Form(Shape.SET, parts=tuple(sorted(forms, key=str)))


def _items(text: str) -> Iterator[str]:
    """The parts between commas; a comma inside a number like 10,080 is none of those."""
    for part in split(text, ";"):
        yield from [part] if rational(part) is not None else split(part, ",")


def _members(text: str, depth: int) -> Iterator[Form]:
    r"""One form, two where `\pm` stands for both, and of a set in a list its members."""
    tokens = tokens_of(text)
    spots = enumerate(zip(tokens, levels(tokens), strict=True))
    both = [place for place, (token, level) in spots if level == 0 and token.strip() == r"\pm"]
    for sign in ("+", "-") if len(both) == 1 else ("",):
        spelled = [sign if place in both and sign else token for place, token in enumerate(tokens)]
        form = _one("".join(spelled).removeprefix("+"), depth)
        yield from form.parts if form.shape == Shape.SET and form.parts else [form]


def _one(text: str, depth: int) -> Form:
    text = _MEMBER.sub("", text, count=1) if _MEMBER.match(text) else text
    if depth >= _MAX_DEPTH:
        return _leaf(text)
    return _compound(text, depth) or _leaf(text)


def _compound(text: str, depth: int) -> Form | None:
    united = split(text, r"\cup")
    if len(united) > 1:
        return Form(Shape.UNION, parts=tuple(sorted((_one(part, depth + 1) for part in united), key=str)))
    return _equation(text, depth) or _bracketed(text, depth) or _matrix(text, depth)


def _equation(text: str, depth: int) -> Form | None:
    """`x=5` and `f(x)=g=5`: a name and the last value; no other equation and no inequality."""
    sides = split(text, "=")
    if len(sides) < 2 or not _NAME.fullmatch(sides[0]) or _RELATION.search(text):
        return None
    name = Form(Shape.EXPRESSION, sides[0].replace(";", ","))
    return Form(Shape.EQUATION, parts=(name, _one(sides[-1], depth + 1)))


def _bracketed(text: str, depth: int) -> Form | None:
    if text == r"\varnothing":
        return Form(Shape.SET)
    inner = inside(text)
    if inner is None:
        return None
    first, last = text[0], text[-1]
    if first == "\\":
        return _list(inner, depth + 1) or Form(Shape.SET)
    items = list(_items(inner) if ";" in inner else split(inner, ","))
    if len(items) > 1:
        return Form(Shape.ROW, first + last, tuple(_one(item, depth + 1) for item in items))
    return _one(inner, depth + 1) if (first, last) == ("(", ")") and inner else None


def _matrix(text: str, depth: int) -> Form | None:
    match = _MATRIX.fullmatch(text)
    if match is None:
        return None
    rows = [row.split("&") for row in match["rows"].split(r"\\") if row]
    cells = [Form(Shape.ROW, "&&", tuple(_one(cell, depth + 1) for cell in row)) for row in rows]
    return Form(Shape.MATRIX, parts=tuple(cells))


def _leaf(text: str) -> Form:
    text = without_unit(text.replace(";", ",")).removeprefix("+")
    number = rational(text)
    if number is not None:
        return Form(Shape.NUMBER, str(number))
    if _WORDS.fullmatch(text):
        return Form(Shape.WORDS, text.casefold())
    if _LITERAL.fullmatch(text):  # 52 to the base 8 is as it is written; 1 8 is no number at all
        return Form(Shape.WORDS, text)
    return Form(Shape.EXPRESSION, without_decimals(text))
