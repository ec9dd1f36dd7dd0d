from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verify.mathematics.test_latex import LATEX
from verify.mathematics.reading import MAX_CHARS, _read, read
from verify.number import parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18.00", "18"),
        (r"\$32,\!348", "32348"),
        ("10,080", "10080"),
        ("-.5", "-1/2"),
        (r"\$.35.", "7/20"),
        (r"1\frac{4}{5}", "9/5"),
        (r"-1\frac45", "-9/5"),
        ("1 4/5", "9/5"),
        (r"\frac{270}7\text{ degrees}", "270/7"),
        (r"15\mbox{ cm}^2", "15"),
        ("5.4 cents", "27/5"),
        (r"3.2\times10^{-2}", "4/125"),
        (r"0.1\overline{6}", "1/6"),
        (r"-0.\overline{3}", "-1/3"),
        (r"\frac{0}{5}", "0"),
        ("+7", "7"),
        (r"\left( 3, \frac{\pi}{2} \right)", r"(3, \frac{\pi}{2})"),
        (r"(-\infty,0]", r"(-\infty, 0]"),
        ("1,-2", r"\{-2, 1\}"),
        (r"\{1,-2\}", r"\{-2, 1\}"),
        (r"1 \pm \sqrt{19}", r"\{1+\sqrt{19}, 1-\sqrt{19}\}"),
        (r"\{1\pm\sqrt{5},-2\}", r"\{-2, 1+\sqrt{5}, 1-\sqrt{5}\}"),
        (r"x \in [-2,7]", "[-2, 7]"),
        (r"(0,9) \cup (9,36)", r"(0, 9)\cup (9, 36)"),
        (r"\begin{bmatrix} 0.5 \\ 2/3 \end{bmatrix}", r"\begin{pmatrix}1/2\\2/3\end{pmatrix}"),
        (r"\text{Evelyn}", "evelyn"),
        (r"\text{(C)}", "C"),
        ("x = 5", "x=5"),
        ("f(x) = 2x = 4", "f(x)=4"),
        (r"52_8", "52_{8}"),
        ("0.5x", r"\frac{1}{2}x"),
        (r"\{ \}", r"\{\}"),
        (r"\emptyset", r"\{\}"),
    ],
)
def test_an_answer_has_one_spelling(text: str, value: str) -> None:
    assert str(read(text)) == value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2^3", r"\frac{2}{3}"),  # known scorers compare the numbers in a text: these three pass there
        (r"\sqrt{2}+3", r"2\sqrt{3}"),
        ("1+2", "(1,2)"),
        ("(1,2)", "1,2"),
        ("(1,2)", "[1,2]"),
        ("(1,2)", "(2,1)"),
        ("1 8", "18"),
        ("1, 234", "1,234"),
        ("52_8", "52"),
        ("x=5", "5"),  # equal, but for equality to say
        ("3R^2", "3r^2"),
        ("5 or 6", "5"),
        ("18-20", "18"),
        ("１８", "18"),
        ("½", "1/2"),
        ("1e400", "1e401"),
        ("3 million", "3"),
    ],
)
def test_other_answers_have_another(one: str, other: str) -> None:
    assert str(read(one)) != str(read(other))


@pytest.mark.parametrize("text", ["", "  ", "$$", "}", r"\frac", "." * 3, "x" * (MAX_CHARS + 1), "(" * 50])
def test_what_is_no_answer(text: str) -> None:
    assert read(text) is None


NUMBERS = st.fractions(max_denominator=10**6, min_value=-(10**9), max_value=10**9)


@given(NUMBERS)
def test_a_fraction_is_the_same_in_every_spelling(number: Fraction) -> None:
    sign, top, bottom = "-" * (number < 0), abs(number.numerator), number.denominator
    whole, rest = divmod(top, bottom)
    spellings = [
        f"{sign}{top}/{bottom}",
        rf"{sign}\frac{{{top}}}{{{bottom}}}",
        rf"$\dfrac{{{sign}{top}}}{{{bottom}}}$",
    ]
    spellings += [rf"{sign}{whole}\frac{{{rest}}}{{{bottom}}}"] if whole and rest else []
    for spelled in spellings:
        assert str(read(spelled)) == str(number), spelled


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4))
def test_a_decimal_is_the_fraction_it_is(number: object) -> None:
    for spelled in (
        f"{number:f}",
        f"{number:,f}",
        f"\\${number:f}",
        f"{number:f}.",
        rf"{number:f}\text{{ cm}}",
    ):
        assert str(read(spelled)) == str(Fraction(str(number)))


@pytest.mark.parametrize(
    "text",
    ["1E100", "-2.5e-300", "1e400", r"12\cdot10^{999}", r"\frac{1e400}{3e-400}", "7" * 70, "1" * 70 + "/3"],
)
def test_numbers_of_many_digits_are_read_as_they_are_spelled(text: str) -> None:
    form = read(text)
    assert form is not None
    assert read(str(form)) == form


def test_a_number_is_the_same_with_and_without_its_exponent() -> None:
    assert read("1E100") == read("1" + "0" * 100)


@given(st.one_of(LATEX, st.text(max_size=60)))
def test_any_text_is_a_form_or_none_and_its_spelling_is_read_as_itself(text: str) -> None:
    form = read(text)
    if form is not None:
        assert read(str(form)) == form


@given(st.text(alphabet="0123456789.,-+/$% e", max_size=8))
def test_the_short_way_to_a_number_leads_where_the_long_way_does(text: str) -> None:
    number = parse_number(text)
    if number is not None:
        assert read(text) == _read(text)
        assert str(read(text)) == str(number)
