"""The pocket model's job, small enough to run in every test session and strong enough to be accepted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corp.spec import JobSpec, parse

TASKS = Path(__file__).parents[2] / "examples" / "tasks"


def pocket_job(model: Path, **sections: Any) -> dict[str, Any]:
    """Plain data of the job, whole sections replaced by ``sections``."""
    return {
        "name": "pocket",
        "model": str(model),
        "task": {
            "name": "addition",
            "data": {"generator": "addition", "seed": 0},
            "prompt": {"user": "{question}"},
            "verifier": {"kind": "exact"},
            "splits": {"support": 300, "select": 300, "gate": 1000, "test": 500},
            "max_new_tokens": 4,
        },
        "population": {"size": 120, "sigmas": [0.005, 0.01, 0.02], "seed": 3},
        "consolidate": {
            "operators": ["reward_mean"],
            "q": [0.5],
            "beta": [10],
            "scales": [2, 4, 6],
            "min_elites": 1,  # some tests search a handful of candidates
        },
        "controls": {"enabled": False},
        "engine": {"batch_size": 300, "threads": 1},
        **sections,
    }


def pocket_spec(model: Path, **sections: Any) -> JobSpec:
    return parse(pocket_job(model, **sections), "the test's job")


def ignore(event: str, data: Mapping[str, object]) -> None:
    del event, data


def never() -> bool:
    return False
