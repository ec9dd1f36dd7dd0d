"""Runs inside reasoning-gym's environment: which probes its scorers fail, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from verify.adapters.gym import LISTED
from verify.hackability import Report
from verify.hackability.examination import examine
from verify.task import load_task, parse_task

BROKEN = ("game_of_life_halting", "coin_flip", "circuit_logic", "polynomial_equations")
RAW = {
    "kind": "function",
    "object": "gym_scorers:score",
    "path": str(Path(__file__).parent),
    "timeout": 10.0,
}
SPLITS = {"support": 1, "select": 1, "gate": 128, "test": 1}


def raw_rows(task: str) -> list[dict[str, Any]]:
    """Items with different questions, as the library makes them."""
    import reasoning_gym

    rows = {
        entry["question"]: {
            "task": task,
            "question": entry["question"],
            "answer": str(entry["answer"]),
            "metadata": json.loads(json.dumps(entry["metadata"], default=str)),
        }
        for entry in reasoning_gym.create_dataset(task, size=400, seed=0)
    }
    return list(rows.values())


def examined(name: str, data: Any, verifier: Mapping[str, Any]) -> Report:
    spec = {
        "name": name,
        "data": data,
        "prompt": {"user": "{question}"},
        "verifier": dict(verifier),
        "splits": SPLITS,
    }
    with closing(load_task(parse_task(spec), Path())) as task:
        return examine(task)


def main() -> None:
    broken = {task: examined(task, {"rows": raw_rows(task)}, RAW) for task in BROKEN}
    listed = {
        task: examined(task, {"gym": task, "seed": 0}, {"kind": "gym"})
        for task in LISTED
        if task != "products"  # 100 questions are all there are
    }
    print(json.dumps({name: report.to_json() for name, report in (broken | listed).items()}))


if __name__ == "__main__":
    main()
