from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.mathematics.latex import Unreadable, normalise

COMMANDS = (
    r"\frac \sqrt \text \left \right \pm \cup \cdot \pi \begin{pmatrix} \end{pmatrix} \{ \} \\ \, \! \in"
)
PIECES = COMMANDS.split()
PIECES += "{}()[]^_,;=+-/ 0123456789.abxyzAE$%&"
PIECES += ["and", " or ", "cm", "−", "π", "²", "１", "\ud800", "\x00", "\n"]
LATEX = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@pytest.mark.parametrize(
    ("spellings", "one"),
    [
        ([r"\dfrac12", r"\tfrac{1}{2}", r"\frac 1 2", r"\frac1{2}", r"$\frac{1}2$"], r"\frac{1}{2}"),
        ([r"x^2", "x^{2}", "x ^ 2", "x²"], "x^{2}"),
        (["2^10", "2^{10}", "2^(10)"], "2^{10}"),
        ([r"\sqrt2", r"\sqrt{2}", "sqrt(2)", "√2", r"\sqrt 2"], r"\sqrt{2}"),
        ([r"90^\circ", r"90^{\circ}", "90°", "90"], "90"),
        ([r"\left(1,2\right]", r"\bigl( 1,2 \bigr]", "(1,2]"], "(1,2]"),
        ([r"11,\! 111,\!100", r"11{,}111{,}100", r"11\,111\,100"], "11111100"),
        ([r"50\%", "50%", r"\$50", "$50"], "50"),
        ([r"2\pi r", "2 π r", "2 pi r"], r"2\pi r"),
        ([r"3\times 4", r"3 \cdot4", "3×4", "3*4"], r"3\cdot4"),
        ([r"1 \text{ and } 2", "1 or 2", "1, 2", "1 ; 2"], "1;2"),
        ([r"\text{June  20}", "June 20"], "June20"),
        ([r"\operatorname{lcm}(a,b)", r"\mathrm{lcm}(a,b)"], "lcm(a,b)"),
        ([r"\left.5\right."], "5"),
        (["1 8"], "1 8"),
    ],
)  # fmt: skip
def test_spellings_of_one_answer_become_one(spellings: list[str], one: str) -> None:
    assert {normalise(spelling) for spelling in spellings} == {one}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\frac{1}{2}", r"\frac{2}{1}"),
        ("x^{12}", "x^12 "[:4] + "3"),
        ("(1,2)", "[1,2]"),
        ("1,234", "1, 234"),
        ("1 8", "18"),
        ("a b", "a+b"),
        (r"f\circ g", "fg"),
    ],
)
def test_other_answers_stay_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@pytest.mark.parametrize(
    "text", ["}", "{", r"\frac{1}", r"\sqrt", "x^", r"\sqrt[3", "{" * 100 + "1" + "}" * 100]
)
def test_what_no_brace_closes_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        normalise(text)


@given(st.one_of(LATEX, st.text(max_size=60)))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert "  " not in normalise(text)
    except Unreadable:
        return
