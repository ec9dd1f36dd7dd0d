"""What single phases make of a table of scores, without a model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from corp.errors import AuditFailed, Cancelled, ScoresUnusable
from corp.phases import export, gate
from corp.phases.run import Run
from population.direction import Component, Direction, Law
from population.proposal import BASE, Candidate
from population.table import Table
from tests.corp.jobs import ignore, never

CHOSEN = Candidate("chosen", Direction((Component(1, 0.5),), Law()), 0.5)


def table(values: list[list[float]], valid: list[list[bool]] | None = None) -> Table:
    scores = np.array(values, np.float64)
    judged = np.ones_like(scores, np.bool_) if valid is None else np.array(valid, np.bool_)
    keys = ("base", "chosen")[: len(scores)]
    return Table(keys, np.zeros(len(scores)), scores, judged)


def fake_run(scored: dict[str, Table], target: Path, alpha: float = 0.05) -> Any:
    """A run whose splits score what ``scored`` says, and that keeps what was asked of it."""
    asked: list[tuple[str, list[str]]] = []

    def score(phase: str, split: str, candidates: list[Candidate]) -> Table:
        asked.append((split, [candidate.key for candidate in candidates]))
        return scored[split]

    task = SimpleNamespace(pass_threshold=1.0, splits={"gate": range(1000)}, messages=lambda item: [item])
    texts = lambda key, split: [f"{key} {n}" for n in range(scored[split].values.shape[1])]  # noqa: E731
    spec = SimpleNamespace(gate=SimpleNamespace(alpha=alpha))
    chosen = {"key": CHOSEN.key, "sigma": 0.5, "direction": cast(Direction, CHOSEN.direction).to_json()}
    return SimpleNamespace(
        asked=asked,
        score=score,
        target=target,
        emit=ignore,
        prepared=SimpleNamespace(task=task, spec=spec),
        store=SimpleNamespace(texts=texts),
        engine=SimpleNamespace(set_weights=lambda direction: None, digest=lambda: "digest"),
        result=lambda name: {"chosen": chosen},
    )


def test_the_gate_compares_base_and_candidate_on_its_own_split_and_opens_test_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "write_evidence", lambda *_: None)
    better = table([[0.0] * 20, [1.0] * 20])
    run = fake_run({"gate": better, "test": better}, tmp_path)
    assert gate.gate_phase(run)["accepted"]
    assert run.asked == [("gate", ["base", "chosen"]), ("test", ["base", "chosen"])]
    same = table([[0.0] * 20, [1.0] * 4 + [0.0] * 16])  # four fixes: p = 0.125
    run = fake_run({"gate": same}, tmp_path)
    assert not gate.gate_phase(run)["accepted"]
    assert run.asked == [("gate", ["base", "chosen"])]
    assert gate.gate_phase(fake_run({"gate": same, "test": same}, tmp_path, alpha=0.2))["accepted"]


def test_prompts_that_one_of_the_two_was_not_judged_on_are_left_out(tmp_path: Path) -> None:
    run = fake_run({}, tmp_path)
    scored = table([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]], [[False, True, True], [True, True, False]])
    decision = gate.paired(run, scored, 0.05)
    assert (decision.n, decision.fixes, decision.regressions) == (1, 1, 0)
    sample = gate.fixed_sample(fake_run({"gate": scored}, tmp_path), scored, CHOSEN)
    assert sample == {"messages": [1], "base": "base 1", "candidate": "chosen 1"}


def test_the_evidence_holds_the_candidates_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: dict[str, Any] = {}

    class Evidence:
        def __init__(self, **fields: Any) -> None:
            written.update(fields)

        def write(self, path: Path) -> None:
            written["path"] = path

    monkeypatch.setattr(gate, "GateEvidence", Evidence)
    scored = table([[0.0, 0.0], [1.0, 0.5]], [[True, True], [True, False]])
    run = fake_run({"gate": scored}, tmp_path)
    run.prepared.spec = SimpleNamespace(task=None, engine=None)
    run.engine = SimpleNamespace(identity={"threads": 2})
    gate.write_evidence(run, scored, CHOSEN)
    assert written["values"] == (1.0, 0.5)
    assert written["valid"] == (True, False)
    assert written["texts"] == ("chosen 0", "chosen 1")
    assert written["path"] == tmp_path / "gate-evidence.json"


def scoring_run(target: Path, monkeypatch: pytest.MonkeyPatch, scored: Table) -> Run:
    monkeypatch.setattr("population.scoring.score", lambda *_, **__: scored)
    monkeypatch.setattr(Run, "engine", None)
    monkeypatch.setattr(Run, "store", None)
    settings = SimpleNamespace(engine=SimpleNamespace(batch_size=8))
    prepared = cast(Any, SimpleNamespace(task=None, spec=settings))
    return Run(prepared=prepared, target=target, emit=ignore, cancelled=never)


def test_a_verifier_that_fails_too_often_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for failed, usable in ((2, True), (3, False)):  # of a hundred verdicts
        judged = np.ones((1, 100), np.bool_)
        judged[0, :failed] = False
        run = scoring_run(tmp_path, monkeypatch, Table(("a",), np.zeros(1), np.zeros((1, 100)), judged))
        if usable:
            run.score("search", "support", [BASE])
        else:
            with pytest.raises(ScoresUnusable, match=r"97\.0%"):
                run.score("search", "support", [BASE])


def test_a_candidate_without_any_verdict_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = np.ones((100, 1), np.bool_)
    judged[42] = False
    keys = tuple(f"c{n}" for n in range(100))
    run = scoring_run(tmp_path, monkeypatch, Table(keys, np.zeros(100), np.zeros((100, 1)), judged))
    with pytest.raises(ScoresUnusable, match="no completion of c42"):
        run.score("search", "support", [BASE])


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
