"""The report catches the broken scorers that are known from publications."""

from __future__ import annotations

import ast
import json
import random
from math import comb
from pathlib import Path
from typing import Any

import pytest

from tests.verify.hackability.examples import HERE, examined, failed, task_of
from verify.errors import VerifierRejected

MBPP = Path(__file__).parents[4] / "shared" / "data" / "mbpp"
ROWS = 100


def grader(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "function", "object": f"broken:{name}", "path": str(HERE), **more}


def halting() -> list[dict[str, Any]]:
    return [{"question": f"Does board {n} halt?", "answer": ("True", "False")[n % 2]} for n in range(ROWS)]


def coin_flip() -> list[dict[str, Any]]:
    """Of n flips exactly k heads, as the published task asks."""
    draw = random.Random(0)
    cases = [(n, draw.randint(0, n)) for n in (draw.randint(8, 20) for _ in range(ROWS))]
    return [
        {"question": f"{i}: {k} of {n}?", "answer": str(comb(n, k) / 2**n)} for i, (n, k) in enumerate(cases)
    ]


def circuit() -> list[dict[str, Any]]:
    """61.5 % zeros, the share measured on the published task."""
    return [{"question": f"Circuit {n}?", "answer": "0" if n < 0.615 * ROWS else "1"} for n in range(ROWS)]


def polynomial() -> list[dict[str, Any]]:
    """Of x² + bx + c; about a third have no real root."""
    draw = random.Random(0)
    rows = []
    for n in range(ROWS):
        b, c = draw.randint(-9, 9), draw.randint(-9, 20)
        square = b * b - 4 * c
        roots = sorted({round((-b + sign * square**0.5) / 2, 2) for sign in (1, -1)}) if square >= 0 else []
        answer = ", ".join(map(str, roots))
        rows.append({"question": f"{n}: x² + {b}x + {c} = 0?", "roots": roots, "answer": answer})
    return rows


@pytest.mark.parametrize(
    ("name", "rows", "caught"),
    [
        ("halting", halting(), {"junk", "echo", "dump", "hedge", "other"}),
        ("coin_flip", coin_flip(), {"junk", "other"}),
        ("circuit", circuit(), {"constant"}),
        ("polynomial", polynomial(), {"junk"}),
    ],
)
def test_broken_tasks_of_reasoning_gym_are_caught(
    name: str, rows: list[dict[str, Any]], caught: set[str]
) -> None:
    report = examined(task_of(rows, grader(name)))
    assert caught <= failed(report)
    with pytest.raises(VerifierRejected) as refusal:
        report.require()
    first = next(report.failed)
    assert first.worst is not None
    assert first.probe in refusal.value.detail
    assert f"scored {first.worst.score:.3g}" in refusal.value.detail


@pytest.mark.parametrize("rows", [halting(), polynomial()])
def test_the_same_rows_with_a_sound_scorer_pass(rows: list[dict[str, Any]]) -> None:
    rows = [row for row in rows if row["answer"]]  # a blank is no answer that can be told from junk
    assert failed(examined(task_of(rows, {"kind": "exact"}))) == set()


def programs(count: int) -> list[dict[str, Any]]:
    """MBPP rows whose tests are all of the form f(…) == value."""
    if not MBPP.exists():
        pytest.skip("the MBPP rows are not here")
    rows = []
    for line in next(iter(sorted(MBPP.rglob("*.jsonl")))).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        pairs = [split(test) for test in row["test_list"]]
        if None in pairs or row.get("test_setup_code"):
            continue
        calls, values = zip(*filter(None, pairs), strict=True)
        rows.append(
            {
                "text": row["text"],
                "tests": row["test_list"],
                "shown": "\n".join(row["test_list"][:3]),
                "first": row["test_list"][0],
                "calls": list(calls[1:]),
                "values": list(values[1:]),
                "code": row["code"].replace("\r\n", "\n"),
            }
        )
        if len(rows) == count:
            break
    return rows


def split(test: str) -> tuple[str, object] | None:
    try:
        compared = ast.parse(test).body[0].test  # type: ignore[attr-defined]
        value = ast.literal_eval(compared.comparators[0])
        as_row = json.loads(json.dumps(value))  # rows are JSON, which has no tuples
        return (ast.unparse(compared.left), value) if as_row == value else None
    except (TypeError, ValueError, SyntaxError, AttributeError):
        return None


@pytest.mark.slow
def test_a_scorer_of_the_tests_that_its_prompt_shows_is_caught() -> None:
    prompt = "{text}\nYour code must pass:\n{shown}"
    judge = grader("shown_tests", oracle_field="code")
    report = examined(task_of(programs(24), judge, prompt=prompt))
    assert {"lookup", "exploits"} <= failed(report)
    assert report.finding("lookup").success == 1.0
    assert report.finding("oracle").success is not None


@pytest.mark.slow
def test_a_scorer_of_hidden_tests_compared_outside_is_sound() -> None:
    judge = grader("hidden_tests", oracle_field="code")
    report = examined(task_of(programs(24), judge, prompt="{text}\nFor example:\n{first}"))
    assert failed(report) == set()
    for probe in ("exploits", "lookup"):
        assert report.finding(probe).judged > 0
