"""A run whose candidates score what a test says, on the real phase, ledger and statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from corp.gate.guard import Guarded
from corp.phases import gate, look
from corp.spec import GateSpec
from population.direction import Component, Direction, Law
from population.proposal import Candidate
from population.table import Table
from tests.corp.jobs import ignore

N = 40


def candidate(key: str, seed: int) -> Candidate:
    return Candidate(key, Direction((Component(seed, 0.5),), Law()), 0.5)


FIRST, SECOND, THIRD = candidate("first", 1), candidate("second", 2), candidate("third", 3)


def row(one: Candidate) -> dict[str, object]:
    assert one.direction is not None
    return {"key": one.key, "direction": one.direction.to_json(), "sigma": one.sigma, "select": 0.5}


def right(count: int, n: int = N) -> list[float]:
    """The first ``count`` prompts right."""
    return [1.0] * count + [0.0] * (n - count)


Scores = Mapping[str, Sequence[float]]


class FakeRun(SimpleNamespace):
    """What the gate needs of a run; ``asked`` keeps what was scored."""

    def result(self, name: str) -> dict[str, Any]:
        return self.results[name]

    def finished(self, name: str) -> bool:
        return name in self.results

    def score(self, phase: str, split: str, candidates: Sequence[Candidate], sampling: Any = None) -> Table:
        keys = [one.key for one in candidates]
        self.asked.append((split, keys))
        self.drawn.append(sampling)
        self.before_scoring(split)
        values = np.array([self.scores[split][key] for key in keys], np.float64)
        valid = np.array([self.valid.get(key, [True] * values.shape[1]) for key in keys])
        return Table(tuple(keys), np.zeros(len(keys)), values, valid, valid & (values == 1))


def fake_run(
    target: Path,
    scores: Mapping[str, Scores],
    finalists: Sequence[Candidate] = (FIRST,),
    *,
    valid: Mapping[str, Sequence[bool]] | None = None,
    before_scoring: Callable[[str], None] = lambda split: None,
    **settings: Any,
) -> Any:
    rows = [row(one) for one in finalists]
    n = len(next(iter(scores["gate"].values())))
    splits = {"gate": [{"question": f"{i}"} for i in range(n)]}
    task = SimpleNamespace(splits=splits, messages=lambda item: [item])
    spec = SimpleNamespace(
        gate=GateSpec(**settings), population=SimpleNamespace(seed=0), task="the task", engine="the engine"
    )
    return FakeRun(
        target=target,
        scores=scores,
        valid=valid or {},
        before_scoring=before_scoring,
        asked=[],
        drawn=[],
        emit=ignore,
        results={"consolidate": {"chosen": rows[0] if rows else None, "finalists": rows}},
        prepared=SimpleNamespace(task=task, spec=spec, guards=()),
        store=SimpleNamespace(texts=lambda key, split: [f"{key} {i}" for i in range(n)]),
        engine=SimpleNamespace(
            set_weights=lambda direction: None, digest=lambda: "digest", identity={"threads": 2}
        ),
    )


def guarded(task: str, held: bool) -> Guarded:
    return Guarded(task, held, -0.02, -0.04, 0.03, 0.05, 0, 2, 100, 0.9, 0.88)


@pytest.fixture
def evidence(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What would be written as evidence."""
    written: dict[str, Any] = {}

    class Evidence:
        def __init__(self, **fields: Any) -> None:
            written.update(fields)

        def write(self, path: Path) -> None:
            written["path"] = path

    monkeypatch.setattr(gate, "GateEvidence", Evidence)
    return written


@pytest.fixture
def guards(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Guarded]]:
    """What the guards find, by candidate; changed by the test."""
    found: dict[str, list[Guarded]] = {}
    monkeypatch.setattr(look, "guard_results", lambda run, one, level: found.get(one.key, []))
    return found
