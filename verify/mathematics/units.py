"""Words that say what a number counts; an answer is the same with and without them."""

from __future__ import annotations

import re

_MEASURED = (
    "mm cm dm km inch ft foot yd yard mi mile meter metre centimeter centimetre millimeter millimetre"
    " kilometer kilometre acre hectare mg kg gram kilogram ounce oz pound lb ton tonne ml liter litre gallon"
    " quart pint cup second minute min hour hr day week month year degree radian dollar cent"
    " euro mph kph percent unit"
)
_COUNTED = (
    "person student girl boy way time point game coin marble ball apple orange cookie egg book page ticket"
    " card car house step piece number digit integer solution triangle"
)
_OTHER = "feet inches children people men women square cubic sq cu per squared cubed"
_WORDS = frozenset(
    (*_OTHER.split(), *(word + end for word in f"{_MEASURED} {_COUNTED}".split() for end in ("", "s", "es")))
)
_PIECE = re.compile(r"\\[A-Za-z]+|[A-Za-z]+|\^\{[23]\}|.", re.DOTALL)
_BETWEEN = (" ", "/", "^{2}", "^{3}")


def without_unit(answer: str) -> str:
    """The answer in normal spelling without the unit behind its number: `864inches^{2}` is `864`."""
    pieces = _PIECE.findall(answer)
    end = cut = len(pieces)
    while end and (pieces[end - 1] in _BETWEEN or pieces[end - 1].lower() in _WORDS):
        end -= 1
        cut = cut if pieces[end] in _BETWEEN else end
    number = "".join(pieces[:cut]).strip()
    return number if number and number[-1] in "0123456789}.)" else answer
