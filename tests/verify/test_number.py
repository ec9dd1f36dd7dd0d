from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.number import last_number, numbers, parse_number


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=4))
def test_a_decimal_is_read_exactly_plain_and_grouped(number: Decimal) -> None:
    assert parse_number(f"{number:f}") == Fraction(number)
    assert parse_number(f"{number:,f}") == Fraction(number)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_a_float_as_python_prints_it_is_read_exactly(number: float) -> None:
    assert parse_number(repr(number)) == Fraction(Decimal(repr(number)))


@given(st.text(max_size=80))
def test_any_text_is_a_number_or_none(text: str) -> None:
    assert parse_number(text) is None or isinstance(parse_number(text), Fraction)
    assert all(number is None or isinstance(number, Fraction) for number in numbers(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18", 18),
        ("18.", 18),
        ("18.00", 18),
        (" +18 ", 18),
        ("$1,234", 1234),
        ("-$5", -5),
        ("$-5", -5),
        ("−5", -5),
        ("5€", 5),
        ("12%", 12),
        (".5", Fraction(1, 2)),
        ("1.5e3", 1500),
        ("2E-2", Fraction(1, 50)),
        ("3/4", Fraction(3, 4)),
        ("-3/4", Fraction(-3, 4)),
        ("007", 7),
    ],
)
def test_forms_of_a_number(text: str, value: Fraction) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "-",
        "$",
        "nan",
        "inf",
        "-Infinity",
        "1,23",
        "12,34,567",
        "1.2.3",
        "1_000",
        "0x1F",
        "--5",
        "-$-5",
        "１８",
        "٣",
        "10²",
        "½",
        "1½",
        "3-5",
        "2×10^5",
        "1/0",
        "1/2/3",
        "1.5/2",
        "1e9999",
        "1e401",
        "9" * 65,
        "18 19",
        "18 apples",
        "18km",
    ],
)
def test_what_is_no_number(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("She has 3 apples and 18km to go.", [3, 18]),
        ("x=18, or $1,234.50!", [18, Fraction(2469, 2)]),
        ("**18**", [18]),
        ("_18_", [18]),
        ("$$18$$", [18]),
        (r"\boxed{18}", [18]),
        ("(18)", [18]),
        ("2+2=4", [None, 4]),
        ("ages 3-5", [None]),
        ("10² is 100", [None, 100]),
        ("H2O and v1.2", []),
        ("the 2nd of 3", [None, 3]),
        ("an 18-year-old", [None]),
        ("0x1F", [None]),
        ("2×10^5", [None]),
        ("temperature −4°", [-4]),
        ("no numbers, nan or inf", []),
        ("18.The end", [18]),
        ("1２", [None]),
        ("18 ½", [18, None]),
    ],
)
def test_numbers_in_prose_are_words_not_fragments(text: str, found: list[Fraction | None]) -> None:
    assert numbers(text) == found


@given(st.text(alphabet="0123456789-−.,/$ abe²\n", max_size=40))
def test_the_last_number_is_the_last_of_all(text: str) -> None:
    found = numbers(text)
    assert last_number(text) == (found[-1] if found else None)
