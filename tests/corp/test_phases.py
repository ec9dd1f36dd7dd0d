"""What single phases make of a table of scores, without a model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from corp.errors import AuditFailed, Cancelled
from corp.phases import export
from corp.phases.run import Run
from population.direction import Component, Direction, Law
from population.proposal import Candidate
from tests.corp.jobs import ignore, never

CHOSEN = Candidate("chosen", Direction((Component(1, 0.5),), Law()), 0.5)


def test_a_stored_phase_is_not_repeated_and_a_stop_comes_before_the_next(tmp_path: Path) -> None:
    run = Run(prepared=cast(Any, None), target=tmp_path, emit=ignore, cancelled=never)
    assert run.phase("search", lambda: {"n": 1}) == {"n": 1}
    run.cancelled = lambda: True
    assert run.phase("search", lambda: {"n": 2}) == {"n": 1}
    with pytest.raises(Cancelled, match="before gate"):
        run.phase("gate", lambda: {"n": 2})
    assert not run.finished("gate")


def test_an_export_of_other_weights_than_the_gates_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "materialise", lambda *_, **__: SimpleNamespace(weights="other"))
    monkeypatch.setattr(export, "chosen_candidate", lambda run: CHOSEN)
    engine = SimpleNamespace(storage="bfloat16", threads=1)
    spec = SimpleNamespace(
        engine=engine, model="m", revision=None, export=SimpleNamespace(shard_bytes=1_000_000)
    )
    run = SimpleNamespace(
        result=lambda name: {"weights": "gate"},
        target=tmp_path,
        release_engine=lambda: None,
        prepared=SimpleNamespace(checkpoint=None, spec=spec),
        base_digests={},
    )
    with pytest.raises(AuditFailed, match="does not hold the weights that passed the gate"):
        export.export_phase(cast(Any, run))
    assert not (tmp_path / "recipe.json").exists()


def test_scores_belong_to_task_base_engine_and_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("population.store.ScoreStore.open", lambda path, identity: opened.append(identity))
    monkeypatch.setattr(Run, "engine", SimpleNamespace(identity={"threads": 2}))
    prepared = SimpleNamespace(
        task=SimpleNamespace(digest="task"),
        checkpoint=SimpleNamespace(digests=lambda: {"model.safetensors": "base"}),
        law=Law(rank=2, kind="lowrank"),
    )
    run = Run(prepared=cast(Any, prepared), target=tmp_path, emit=ignore, cancelled=never)
    assert run.store is None  # what the fake gives
    assert opened == [
        {
            "task": "task",
            "base": {"model.safetensors": "base"},
            "engine": {"threads": 2},
            "noise": prepared.law.to_json(),
        }
    ]
