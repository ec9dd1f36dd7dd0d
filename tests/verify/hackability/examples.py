"""Tasks to examine, made of rows and a verifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from verify.hackability import Report
from verify.hackability.examination import examine
from verify.task import Task, load_task, parse_task
from verify.verdict import Verifier

HERE = Path(__file__).parent
Rows = Sequence[Mapping[str, Any]]


def task_of(
    gate: Rows, verifier: Mapping[str, Any] | Verifier, *, prompt: str = "{question}", **more: Any
) -> Task:
    """A task with exactly these rows in its gate; a verifier that is no kind of the registry is put in."""
    named = dict(verifier) if isinstance(verifier, Mapping) else {"kind": "exact"}
    others = ("support", "select", "test")
    fillers = {name: {"rows": [{**gate[0], "question": name, "text": name}]} for name in others}
    spec = {
        "name": "probed",
        "data": {**fillers, "gate": {"rows": [dict(row) for row in gate]}},
        "prompt": {"user": prompt},
        "verifier": named,
        "splits": {"support": 1, "select": 1, "test": 1, "gate": len(gate)},
        **more,
    }
    task = load_task(parse_task(spec), HERE)
    return task if isinstance(verifier, Mapping) else replace(task, verifier=verifier)


def examined(task: Task) -> Report:
    try:
        return examine(task)
    finally:
        task.close()


def failed(report: Report) -> set[str]:
    return {finding.probe for finding in report.failed}
