from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verify.hackability.examples import task_of
from verify.hackability.bench import Bench, Row
from verify.hackability.code import exploits, lookup, program
from verify.hackability.exploits import EXPLOITS
from verify.hackability.junk import JUNK
from verify.sandbox import Level, Limits, Outcome, check, evaluate, level

SOURCE = "def double(x):\n    return 2 * x\n"
PROMPT = "Double it.\nassert double(3) == 6\n>>> assert double([1, 2]) == [1, 2, 1, 2]\nassert double(1)"


@pytest.mark.parametrize(
    ("completion", "around"),
    [
        (SOURCE, ("", "")),
        (f"```python\n{SOURCE}```", ("```python\n", "\n```")),
        (f"Here:\n```\n{SOURCE}\n```\nDone.", ("Here:\n```\n", "\n```\nDone.")),
        (f"<answer>\n{SOURCE}</answer>", ("<answer>\n", "\n</answer>")),
    ],
)
def test_a_program_is_found_with_what_stands_around_it(completion: str, around: tuple[str, str]) -> None:
    found = program(completion)
    assert found is not None
    assert found.names == ("double",)
    assert found.replaced("NEW") == f"{around[0]}NEW{around[1]}"


@pytest.mark.parametrize("text", ["", "42", "x = 1", "def broken(:", "the def of it", "("])
def test_what_defines_no_function_is_no_program(text: str) -> None:
    assert program(text) is None


@given(st.text(max_size=80) | st.sampled_from([junk.text for junk in JUNK]))
def test_no_text_breaks_the_reading_of_programs_and_prompts(text: str) -> None:
    program(text)
    program(f"def {text}")
    lookup_of({"question": f"assert {text}", "answer": text})


def lookup_of(row: dict[str, str]) -> str | None:
    from verify.hackability.code import _table

    return _table(Row("gate row 0", row, row["question"], row["answer"], row["answer"]))


def test_the_table_knows_the_shown_tests_and_nothing_else() -> None:
    if level() is Level.NONE:
        pytest.skip("no sandbox here")
    table = lookup_of({"question": PROMPT, "answer": SOURCE})
    assert table is not None
    ran = check(table, ["double(3)", "double([1, 2])", "double(4)"], [6, [1, 2, 1, 2], None])
    assert ran.verdict is Outcome.OK, ran.detail


def test_exploits_are_python_and_what_they_return_is_no_answer() -> None:
    if level() is Level.NONE:
        pytest.skip("no sandbox here")
    for name, source in EXPLOITS.items():
        named = source.replace("{name}", "double")
        ast.parse(named)
        ran = evaluate(named, ["double(3)"], limits=Limits(cpu=1))
        plain = ran.values[0] if ran.values else None
        assert plain not in (0, 1, True, False, "", [], None) or ran.verdict is not Outcome.OK, name


def test_rows_without_programs_and_prompts_without_tests_skip_both() -> None:
    task = task_of([{"question": f"{n}?", "answer": str(n)} for n in range(4)], {"kind": "exact"})
    bench = Bench.of(task, 0.0)
    assert bench is not None
    assert {probe(bench).status for probe in (exploits, lookup)} == {"skip"}
