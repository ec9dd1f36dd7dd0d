from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.verify.mathematics.test_latex import LATEX
from verify import Verifier, verifier
from verify.errors import ExtraMissing

DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture(scope="module")
def judge() -> Iterator[Verifier]:
    made = verifier("math")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("answer", "completion"),
    [
        ("5", "#### 5"),  # known scorers of MATH ask for the mark and do not read it
        ("18", "#### 18."),
        ("18", r"\boxed{18.00}"),
        (r"\frac{1}{2}", r"so $x = \boxed{\dfrac12}$."),
        (r"\frac{1}{2}", "The answer is 0.5."),
        (r"11\sqrt2", r"\boxed{\sqrt{242}}"),
        (r"\frac{\sqrt{3}}{3}", r"\boxed{\frac{1}{\sqrt{3}}}"),
        (r"1 \pm \sqrt{19}", r"\boxed{1-\sqrt{19}, 1+\sqrt{19}}"),
        ("1,-2", r"x = \boxed{-2} or x = 1? No: $\boxed{-2}$ and $\boxed{1}$"),
        ("x=5", r"\boxed{5}"),
        ("5", r"\boxed{x = 5}"),
        ("5", r"\boxed{2+3=5}"),
        ("5x - 7y + 11z + 4 = 0", r"\boxed{-10x + 14y - 22z = 8}"),
        ("y = 2x + 3", r"\boxed{y-2x=3}"),
        (r"\text{Evelyn}", r"\boxed{Evelyn}"),
        (r"\text{(C)}", r"\boxed{C}"),
        (r"90^\circ", r"\boxed{90}"),
        (r"\begin{pmatrix} -1/3 \\ 2/3 \end{pmatrix}", r"\boxed{\begin{bmatrix}-1/3\\\frac23\end{bmatrix}}"),
        (r"(0,9) \cup (9,36)", r"\boxed{(9, 36) \cup (0, 9)}"),
        (r"x \in [-2,7]", r"\boxed{[-2,7]}"),
        (r"\cot x", r"\boxed{\frac{\cos x}{\sin x}}"),
        ("6 - 5i", r"\boxed{-5i+6}"),
        ("8", r"\boxed{2^3}"),
        ("We get $\\boxed{3}$.The answer is: 3", "3"),
    ],
)  # fmt: skip
def test_right_answers(judge: Verifier, answer: str, completion: str) -> None:
    verdict = judge({"answer": answer}, completion)
    assert (verdict.value, verdict.valid, verdict.error) == (1, True, None)


@pytest.mark.parametrize(
    ("answer", "completion"),
    [
        (r"\frac{2}{3}", r"\boxed{2^3}"),  # known scorers compare the numbers in the text: all of these pass
        (r"2\sqrt{3}", r"\boxed{\sqrt{2}+3}"),
        ("(1,2)", r"\boxed{1+2}"),
        ("(1,2)", r"\boxed{1-2}"),
        ("(1,2)", r"\boxed{[1,2]}"),
        ("(1,2)", r"\boxed{2,1}"),
        ("5", r"\boxed{5} or \boxed{6}"),
        ("5", "The answer is 5 or 6."),
        ("5", r"\boxed{5}. No, \boxed{6}"),
        ("5", r"\boxed{5}, so \boxed{6"),
        ("5", r"I get 5"),
        ("5", r"\boxed{2+3=6}"),
        ("5", r"\boxed{y=x}"),
        ("x=5", r"\boxed{y=5}"),
        ("y=2x", r"\boxed{y=2x+1}"),
        ("1,-2", r"\boxed{1}"),
        ("1,-2", r"\boxed{1,2}"),
        (r"\frac13", r"\boxed{0.333333}"),  # rounded
        (r"\sqrt{13}", r"\boxed{3.605551}"),
        ("e^{-50}", r"\boxed{2e^{-50}}"),
        ("3R^2", r"\boxed{3r^2}"),
        ("52_8", r"\boxed{52_9}"),
        ("18", "#### 1 8"),
        ("18", r"\boxed{１８}"),
        ("18", "#### 18-20"),
        (r"\text{Evelyn}", r"\boxed{\text{Angela}}"),
        ("x^2 = -1", r"\boxed{x^2 = -4}"),  # without real solutions, both of them
    ],
)  # fmt: skip
def test_wrong_answers(judge: Verifier, answer: str, completion: str) -> None:
    verdict = judge({"answer": answer}, completion)
    assert (verdict.value, verdict.valid, verdict.error) == (0, True, None)


def test_components_say_whether_there_was_an_answer_and_a_mark(judge: Verifier) -> None:
    item = {"answer": "5"}
    assert judge(item, r"\boxed{6}").components == {"format": 1, "marked": 1}
    assert judge(item, "the answer is 6").components == {"format": 1, "marked": 0}
    assert judge(item, "some\nprose").components == {"format": 0, "marked": 0}


def test_strict_asks_for_a_box_or_the_mark() -> None:
    strict = verifier("math", strict=True)
    values = [
        strict({"answer": "5"}, text).value for text in (r"\boxed{5}", "#### 5", "the answer is 5", "5")
    ]
    assert values == [1, 1, 0, 0]


def test_short_answers_of_competitions() -> None:
    aime = verifier("math", form="integer")
    texts = (
        r"\boxed{042}",
        r"\boxed{42}",
        "#### 42.",
        r"\boxed{84/2}",
        r"\boxed{42.0}",
        r"\boxed{x=42}",
        r"\boxed{6\cdot7}",
    )
    assert [aime({"answer": "042"}, text).value for text in texts] == [1, 1, 1, 0, 0, 0, 0]
    number = verifier("math", form="number")
    texts = (r"\boxed{\frac{84}{2}}", r"\boxed{42.0}", r"\boxed{6\cdot7}", r"\boxed{\sqrt{1764}}")
    assert [number({"answer": 42}, text).value for text in texts] == [1, 1, 0, 0]


def test_tolerance_in_exact_arithmetic_and_for_expressions() -> None:
    close = verifier("math", rel_tol=0.01)
    for answer, text, value in (
        ("100", r"\boxed{101}", 1),
        ("100", r"\boxed{101.0000001}", 0),
        (r"4.5e33", r"\boxed{4.52\times 10^{33}}", 1),
        (r"\pi", r"\boxed{3.14}", 1),
        (r"\pi", r"\boxed{3.0}", 0),
        ("3.14", r"\boxed{\pi}", 1),
        ("(1, 2)", r"\boxed{(1.001, 2)}", 1),
    ):
        assert close({"answer": answer}, text).value == value, (answer, text)
    close.close()
    exact = verifier("math", tol=0.3, form="number")
    assert [exact({"answer": "0"}, rf"\boxed{{{text}}}").value for text in ("0.3", "0.3000001")] == [1, 0]


@pytest.mark.parametrize(
    "answer",
    [r"9^{9^{9^9}}", r"\sum_{k=1}^{10^9} k^k", r"(10^9)!"],
)
def test_what_takes_for_ever_is_stopped_and_said_to_be(answer: str) -> None:
    quick = verifier("math", timeout=0.3)
    verdict = quick({"answer": "18"}, rf"\boxed{{{answer}}}")
    assert (verdict.value, verdict.valid, verdict.error) == (0, False, "timeout")
    assert quick({"answer": "18"}, r"\boxed{\sqrt{324}}").value == 1
    quick.close()


@pytest.mark.parametrize("answer", ["", "   ", "}", [], None, "x" * 2000])
def test_an_item_without_an_answer_is_not_a_wrong_answer(judge: Verifier, answer: object) -> None:
    verdict = judge({"answer": answer}, "#### 18")
    assert not verdict.valid
    assert verdict.error in ("item_value", "item_field")


def test_an_item_that_is_no_integer_is_not_a_wrong_answer() -> None:
    verdict = verifier("math", form="number")({"answer": r"\sqrt{2}"}, "#### 18")
    assert (verdict.valid, verdict.error) == (False, "item_value")


def test_text_from_a_model_is_never_run(judge: Verifier, tmp_path: Path) -> None:
    target = tmp_path / "made"
    for text in (f"open('{target}','w')", f"__import__('pathlib').Path('{target}').touch()"):
        judge({"answer": "x+1"}, rf"\boxed{{{text}}}")
    assert not target.exists()


def test_without_the_package_the_kind_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.kinds.math.find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"verifier math .*pip install 'corp-posttrain\[math\]'"):
        verifier("math")
    assert verifier("math", form="integer")({"answer": 5}, "#### 5").value == 1


def test_algebra_is_never_imported_here(judge: Verifier) -> None:
    before = set(sys.modules)
    assert judge({"answer": "a+b"}, r"\boxed{b+a}").value == 1
    assert not {
        name for name in set(sys.modules) - before if name.startswith(("math_verify", "latex2sympy2"))
    }


def expressions() -> st.SearchStrategy[Any]:
    """Polynomials, roots and fractions as sympy objects; sympy prints the LaTeX, so it is not our own."""
    import sympy

    x, y = sympy.symbols("x y")
    leaves = st.one_of(
        st.integers(-9, 9).map(sympy.Integer), st.sampled_from([x, y, sympy.pi, sympy.sqrt(2)])
    )

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            pairs.map(lambda ab: ab[0] + ab[1]),
            pairs.map(lambda ab: ab[0] * ab[1]),
            inner.map(lambda a: a**2),
            inner.map(lambda a: a / 3),
        )

    return st.recursive(leaves, grow, max_leaves=5)


@settings(max_examples=40)
@given(expressions())
def test_an_expression_equals_its_expansion_and_no_other(judge: Verifier, expression: Any) -> None:
    import sympy

    item = {"answer": sympy.latex(expression)}
    for form in (sympy.expand(expression), sympy.factor(expression)):
        assert judge(item, rf"\boxed{{{sympy.latex(form)}}}").value == 1
    for form in (expression + 1, expression * 2 + 1 - expression + sympy.Rational(1, 7)):
        if sympy.simplify(form - expression) != 0:
            assert judge(item, rf"\boxed{{{sympy.latex(form)}}}").value == 0


@settings(max_examples=60)
@given(st.sampled_from(["18", "x+1", r"\frac{\pi}{2}", "(1,2)", "y=2x", r"\text{red}"]), LATEX)
def test_junk_in_a_box_is_a_wrong_answer_and_no_fault(judge: Verifier, answer: str, junk: str) -> None:
    verdict = judge({"answer": answer}, rf"\boxed{{{junk}}}")
    assert verdict.valid or verdict.error == "timeout", verdict.detail


def rows(*names: str) -> list[dict[str, Any]]:
    if not DATA.is_dir():
        pytest.skip("the data sets are not beside the repository (../shared/data)")
    texts = ((DATA / name).read_text(encoding="utf-8") for name in names)
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_every_gold_answer_of_gsm8k_is_right_and_every_mutated_one_wrong(judge: Verifier) -> None:
    for row in rows("gsm8k/train.jsonl", "gsm8k/test.jsonl"):
        number = row["answer"].rpartition("####")[2].strip()
        assert judge(row, row["answer"]).value == 1, row
        assert judge(row, rf"So it is \boxed{{{number}}}.").value == 1, row
        for wrong in (f"{number}1", f"{number}.5", f"{number} or {number}1"):
            verdict = judge(row, rf"\boxed{{{wrong}}}")
            assert (verdict.value, verdict.valid) == (0, True), (row, wrong)


def test_every_gold_answer_of_math_500_is_right_and_every_mutated_one_wrong(judge: Verifier) -> None:
    shuffled = rows("math500/test.jsonl")
    random.Random(0).shuffle(shuffled)
    finals = [row["answer"].rpartition("The answer is: ")[2] for row in shuffled]
    for row, final, other in zip(shuffled, finals, [*finals[1:], finals[0]], strict=True):
        assert judge(row, row["answer"]).value == 1, row
        for right in (rf"\boxed{{{final}}}", f"#### {final}", f"The answer is ${final}$."):
            assert judge(row, right).value == 1, (final, right)
        for wrong in mutations(final, other):
            verdict = judge(row, rf"\boxed{{{wrong}}}")
            assert (verdict.value, verdict.valid) == (0, True), (final, wrong)


def mutations(final: str, other: str) -> Iterator[str]:
    if judge_key(final) != judge_key(other):
        yield other
    yield from (f"{final}+1", f"{final} or {final}+1", "")
    digits = [place for place, letter in enumerate(final) if letter.isdigit()]
    if final.isdigit():  # of y=-2x, y=-2x1 is none
        yield f"{final}1"
    if digits:
        place = digits[0]  # not the last: a unit may end in a power
        yield f"{final[:place]}{(int(final[place]) + 1) % 10}{final[place + 1 :]}"


def judge_key(text: str) -> str | None:
    return verifier("math").answer({}, rf"\boxed{{{text}}}")
