"""Rational numbers as mathematics writes them, read exactly."""

from __future__ import annotations

import re
from fractions import Fraction

from verify.number import parse_number

_FRACTION = re.compile(r"(?P<whole>-?[0-9]*)\\frac\{(?P<top>[^{}]+)\}\{(?P<bottom>[^{}]+)\}")
_MIXED = re.compile(r"(?P<whole>-?[0-9]+) (?P<top>[0-9]+)/(?P<bottom>[0-9]+)")
_REPEATING = re.compile(r"(?P<start>-?[0-9]*\.(?P<fixed>[0-9]*))\\overline\{(?P<period>[0-9]{1,20})\}")
_LONG = re.compile(r"-?[0-9]+(?:/[0-9]+)?")
_MAX_SPELLED = 1_000  # characters, which an answer may have; 1e400 is spelled with 401
_DECIMAL = re.compile(r"[0-9]*\.[0-9]+")
_SCIENTIFIC = re.compile(r"(?:(?P<mantissa>-?[0-9.,]+)\\cdot)?10\^\{(?P<exponent>-?[0-9]{1,3})\}")


def rational(text: str) -> Fraction | None:
    r"""The number that normal spelling is: `-3.50`, `10,080`, `3/4`, `2\frac{3}{4}`, `3\cdot10^{4}`."""
    for reader in (parse_number, _fraction, _repeating, _scientific, _long):
        value = reader(text)
        if value is not None:
            return value if len(str(value)) <= _MAX_SPELLED else None
    return None


def _fraction(text: str) -> Fraction | None:
    r"""`-\frac{3}{4}` and, as mixed numbers, `2\frac{3}{4}` and `2 3/4`."""
    match = _FRACTION.fullmatch(text) or _MIXED.fullmatch(text)
    if match is None:
        return None
    whole, top, bottom = (parse_number(match[name], fractions=False) for name in ("whole", "top", "bottom"))
    if top is None or not bottom:
        return None
    sign = -1 if match["whole"].startswith("-") else 1
    return (whole or 0) + sign * top / bottom


def _repeating(text: str) -> Fraction | None:
    r"""`0.1\overline{6}` is 1/6."""
    match = _REPEATING.fullmatch(text)
    start = parse_number(match["start"] + "0", fractions=False) if match else None
    if match is None or start is None:
        return None
    rest = Fraction(int(match["period"]), (10 ** len(match["period"]) - 1) * 10 ** len(match["fixed"]))
    return start - rest if text.startswith("-") else start + rest


def _scientific(text: str) -> Fraction | None:
    match = _SCIENTIFIC.fullmatch(text)
    mantissa = parse_number((match and match["mantissa"]) or "1", fractions=False)
    return None if match is None or mantissa is None else mantissa * Fraction(10) ** int(match["exponent"])


def _long(text: str) -> Fraction | None:
    """What `str` of a number is, however many digits `1e100` comes to."""
    if len(text) > _MAX_SPELLED or not _LONG.fullmatch(text):
        return None
    top, _, bottom = text.partition("/")
    return Fraction(int(top), int(bottom or 1)) if int(bottom or 1) else None


def without_decimals(expression: str) -> str:
    """The expression with 0.5 as a fraction: to algebra, a decimal would be a number of 15 digits."""
    return expression if "dots" in expression else _DECIMAL.sub(_exact, expression)


def _exact(decimal: re.Match[str]) -> str:
    value = parse_number(decimal[0])
    if value is None:
        return decimal[0]
    whole = value.denominator == 1
    return str(value) if whole else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
