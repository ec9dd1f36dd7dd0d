"""Numbers as language models write them, read exactly.

Only ASCII digits count: `１８`, `10²` and `½` are not numbers here, and nothing is read out of the middle of
`0x1F`, `3-5`, `2×10^5` or `1.2.3`. All of that would otherwise be a way to be right by accident.
"""

from __future__ import annotations

import re
from fractions import Fraction

_MAX_CHARS = 64  # 10^63 at most before an exponent; keeps every Fraction small
_MAX_EXPONENT = 400

# Dollar or sign in either order, grouped or plain digits, exponent or denominator, percent or currency, unit.
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)[$€£¥]?(?P<inner>[+-]?)"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)?(?:\.(?P<decimals>[0-9]*))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,4}))?(?:/(?P<denominator>[0-9]+))?"
    r"[%€$£¥]?(?P<unit>[A-Za-z°]*)"
)
# A word that may be a number: what can stand inside one, and what makes it something else, e.g. `^` or `×`.
_WORD = re.compile(r"[\w.,/^+\-$€£¥%×·'°]+")
_EDGES = ".,'·/_$"
_OPENING_EDGES = _EDGES.replace(".", "")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)", re.IGNORECASE)


def parse_number(text: str, *, fractions: bool = True, units: bool = False) -> Fraction | None:
    """The number that `text` is as a whole, or None.

    Args:
        text: for example `18`, `18.`, `-1,234.50`, `$5`, `-$5`, `12%` (read as 12), `1.5e3`, `3/4`.
        fractions: whether `3/4` is a number.
        units: whether letters may follow without a space, as in `18km`.
    """
    match = (
        _NUMBER.fullmatch(text.strip().replace("\N{MINUS SIGN}", "-")) if len(text) <= _MAX_CHARS else None
    )
    if match is None or not (match["whole"] or match["decimals"]):
        return None
    if (match["sign"] and match["inner"]) or (
        match["unit"] and (not units or _ORDINAL.fullmatch(match["unit"]))
    ):
        return None
    return _value(match, fractions)


def _value(match: re.Match[str], fractions: bool) -> Fraction | None:
    exponent = int(match["exponent"] or 0)
    denominator = match["denominator"]
    if abs(exponent) > _MAX_EXPONENT:
        return None
    if denominator is not None and (not fractions or match["decimals"] is not None or int(denominator) == 0):
        return None
    decimals = match["decimals"] or ""
    digits = int((match["whole"] or "").replace(",", "") + decimals)
    if "-" in (match["sign"], match["inner"]):
        digits = -digits
    shift = exponent - len(decimals)
    return Fraction(digits * 10 ** max(shift, 0), int(denominator or 1) * 10 ** max(-shift, 0))


def numbers(text: str, *, fractions: bool = True) -> list[Fraction | None]:
    """Every word of `text` that holds a digit and does not start with a letter, in order.

    A word that only looks like a number (`3-5`, `10²`) is None: it stands where a number should.
    """
    words = map(_bare, _WORD.findall(text.replace("\N{MINUS SIGN}", "-")))
    return [parse_number(word, fractions=fractions, units=True) for word in words if _numeric(word)]


def last_number(text: str, *, fractions: bool = True) -> Fraction | None:
    """The last of `numbers(text)`; None where there is none, and where that one is None (`3-5`)."""
    words = map(_bare, reversed(_WORD.findall(text.replace("\N{MINUS SIGN}", "-"))))
    last = next(filter(_numeric, words), "")
    return parse_number(last, fractions=fractions, units=True)


def _bare(word: str) -> str:
    return word.rstrip(_EDGES).lstrip(_OPENING_EDGES)


def _numeric(word: str) -> bool:
    return any(map(str.isnumeric, word)) and not word[0].isalpha()
