"""Every kind of the registry passes on a task that it is made for; a kind that is missing here fails."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.verify.hackability.examples import examined, failed, task_of
from verify import KINDS
from verify.errors import ExtraMissing
from verify.generators import generator

DATA = Path(__file__).parents[4] / "shared" / "data"
EXAMPLES = str(Path(__file__).parents[3] / "examples")
N = 100

Rows = Sequence[Mapping[str, Any]]


def sums(**fields: str) -> list[dict[str, Any]]:
    """`fields`: templates of further fields, with `{answer}`."""

    def row(a: int, b: int) -> dict[str, Any]:
        more = {name: text.replace("{answer}", str(a + b)) for name, text in fields.items()}
        return {"question": f"{a} + {b} = ?", "answer": str(a + b), **more}

    return [row(a, b) for a in range(11, 21) for b in range(30, 40)]


def few(**fields: str) -> list[dict[str, Any]]:
    """For graders in a helper process."""
    return sums(**fields)[:40]


def countdown() -> list[dict[str, Any]]:
    made = generator("countdown")
    rows = islice(made.rows(0), N)
    return [{**row, "question": f"{row['numbers']} {row['target']}"} for row in rows]


def choices() -> list[dict[str, Any]]:
    texts = ["Rome", "Oslo", "Paris", "Bern"]
    return [{"question": f"Capital {n}?", "choices": texts, "answer": "ABCD"[n % 4]} for n in range(N)]


SOURCE = "def grade(item, completion):\n    return completion.strip() == item['answer']\n"
STRICT = {"format_strict": True}
CASES: dict[str, tuple[Rows, dict[str, Any], dict[str, Any]]] = {
    "choice": (choices(), {}, {}),
    "countdown": (countdown(), {}, {}),
    "exact": (sums(), {}, {}),
    "function": (sums()[:10], {"source": SOURCE}, {"allow": STRICT}),
    "gsm8k": (sums(), {}, {}),
    "json_schema": (
        [{**row, "gold": {"answer": int(row["answer"])}} for row in sums()],
        {"schema": {"type": "object"}, "expected": "gold"},
        {},
    ),
    "lm_eval": (sums(), {}, {}),
    "logprob": (sums(), {}, {"pass_threshold": -0.7}),
    "math": (sums(), {"form": "integer"}, {}),
    "mixed": (sums(), {"verifier": {"kind": "numeric"}}, {}),
    "numeric": (sums(), {}, {}),
    "random": (sums(), {}, {}),
    "randopt": (
        few(ground_truth="{answer}", tagged="<answer>{answer}</answer>"),
        {"object": "graders:Sums", "path": EXAMPLES, "oracle_field": "tagged"},
        {},
    ),
    "regex": (sums(pattern="^{answer}$"), {}, {}),
    "trl": (
        few(prompt="?"),
        {"functions": ["graders:accuracy"], "path": EXAMPLES, "oracle_field": "answer"},
        {"allow": STRICT},
    ),
    "verifiers": (
        few(),
        {"object": "graders:exact", "path": EXAMPLES, "oracle_field": "answer"},
        {"allow": STRICT},
    ),
    "verl": (
        few(ground_truth="{answer}", marked="#### {answer}", data_source="sums"),
        {
            "object": "graders:compute_score",
            "path": EXAMPLES,
            "field": "ground_truth",
            "oracle_field": "marked",
        },
        {},
    ),
}
GYM = "gym"  # its rows are reasoning-gym's: tests/oracles examines them in its environment


def test_every_kind_has_its_case() -> None:
    assert sorted([*CASES, GYM]) == sorted(KINDS)


@pytest.mark.parametrize("kind", CASES)
def test_a_kind_passes_on_a_task_that_it_is_made_for(kind: str) -> None:
    rows, params, more = CASES[kind]
    report = examined(task_of(rows, {"kind": kind, **params}, **more))
    assert failed(report) == set(), [finding.line for finding in report.failed]
    if kind not in ("logprob", "random", "regex"):  # of these no row holds an answer
        assert report.finding("oracle").success == 1


def read(folder: str, name: str) -> list[dict[str, Any]]:
    path = DATA / folder / name
    if not path.exists():
        pytest.skip(f"{folder} is not here")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("folder", "name", "params"),
    [
        ("gsm8k", "test.jsonl", {"kind": "gsm8k"}),
        ("gsm8k", "test.jsonl", {"kind": "gsm8k", "strict": True}),
        pytest.param("math500", "test.jsonl", {"kind": "math"}, marks=pytest.mark.slow),
    ],
)
def test_the_data_of_the_papers_pass(folder: str, name: str, params: dict[str, Any]) -> None:
    rows = [
        {"question": row.get("question") or row.get("problem"), **row} for row in read(folder, name)[:128]
    ]
    try:
        task = task_of(rows, params)
    except ExtraMissing as missing:
        pytest.skip(str(missing))
    report = examined(task)
    assert failed(report) == set(), [finding.line for finding in report.failed]
    assert report.rows == 128
