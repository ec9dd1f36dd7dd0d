from __future__ import annotations

from pathlib import Path

import pytest
import torch

from corp.audit import audit
from corp.errors import AuditFailed
from corp.evidence import GateEvidence
from corp.rescore import _compare, rescore
from corp.spec import EngineSpec
from population.checkpoint import Checkpoint
from population.engines.torch import TorchEngine
from population.proposal import Candidate
from population.scoring import score
from population.store import ScoreStore
from tests.corp.exports import DIRECTION, export
from tests.corp.jobs import ignore
from verify.task import load_task, parse_task

ENGINE = EngineSpec(batch_size=50, threads=1)


@pytest.fixture(scope="module")
def run(pocket: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """RUN/checkpoint, and the evidence of its 120 gate prompts scored as a direction, blocks of 50."""
    folder = tmp_path_factory.mktemp("run")
    spec = {
        "name": "addition",
        "data": {"generator": "addition"},
        "prompt": {"user": "{question}"},
        "verifier": {"kind": "exact"},
        "splits": {"support": 1, "select": 1, "gate": 120, "test": 1},
        "max_new_tokens": 4,
    }
    task = load_task(parse_task(spec), folder)
    threads = torch.get_num_threads()
    engine = TorchEngine(Checkpoint.open(pocket), batch_size=50, threads=1)
    with ScoreStore.open(folder / "scores.sqlite", {}) as store:
        table = score(engine, task, "gate", [Candidate("c", DIRECTION, 0.01)], store, block_size=50)
        texts = store.texts("c", "gate")
    assert 0.1 < table.rewards()[0] < 0.95  # else the comparison below could not fail
    GateEvidence(
        task=task.inline(),
        engine=ENGINE,
        identity={key: str(value) for key, value in engine.identity.items()},
        values=tuple(table.values[0].tolist()),
        valid=tuple(table.valid[0].tolist()),
        success=tuple(table.success[0].tolist()),
        texts=tuple(texts),
    ).write(folder / "gate-evidence.json")
    engine.close()
    task.close()
    torch.set_num_threads(threads)
    export(pocket, folder / "checkpoint")
    return folder


def test_values_verdicts_texts_and_engines_are_compared_one_by_one(run: Path) -> None:
    evidence = GateEvidence.read(run / "gate-evidence.json")
    found = {
        "outcomes": [None, *map(list, evidence.outcomes()[1:])],  # as JSON brings them
        "texts": ["x", "y", *evidence.texts[2:]],
        "identity": {**evidence.identity, "torch": "1.0"},
    }
    result = _compare(evidence, found)
    assert (result.prompts, result.differing, result.texts) == (120, 1, 2)
    other = [[value, not passed] for value, passed in filter(None, evidence.outcomes())]
    assert _compare(evidence, {**found, "outcomes": other}).differing == 120
    assert len(result.changed) == 1
    assert result.changed[0].startswith("torch (1.0, at the gate ")


def changed(run: Path, target: Path, **changes: object) -> Path:
    evidence = GateEvidence.read(run / "gate-evidence.json")
    evidence.model_copy(update=changes).write(target)
    return target


def test_the_export_scores_what_the_direction_scored(run: Path, pocket: Path) -> None:
    report = audit(run / "checkpoint", base=pocket, emit=ignore)
    assert (report.prompts, report.texts_differing) == (120, 0)


@pytest.mark.slow
def test_other_scores_at_the_gate_are_found_and_counted(run: Path, tmp_path: Path) -> None:
    evidence = GateEvidence.read(run / "gate-evidence.json")
    values = tuple(1.0 - (value or 0.0) for value in evidence.values[:3]) + evidence.values[3:]
    with pytest.raises(AuditFailed, match=r"3 of 120 prompts – the engine is the same"):
        rescore(run / "checkpoint", changed(run, tmp_path / "e.json", values=values))


@pytest.mark.slow
def test_another_model_is_found(run: Path, pocket: Path) -> None:
    with pytest.raises(AuditFailed, match="scores otherwise than at the gate"):
        rescore(pocket, run / "gate-evidence.json")


@pytest.mark.slow
def test_the_hint_names_what_changed_in_the_engine(run: Path, tmp_path: Path) -> None:
    evidence = GateEvidence.read(run / "gate-evidence.json")
    path = changed(
        run,
        tmp_path / "e.json",
        identity={**evidence.identity, "torch": "1.0"},
        valid=(not evidence.valid[0], *evidence.valid[1:]),
    )
    with pytest.raises(AuditFailed, match=r"1 of 120 .*torch \(.*at the gate 1\.0\)"):
        rescore(run / "checkpoint", path)


@pytest.mark.slow
def test_a_checkpoint_that_does_not_load_is_an_audit_failure(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(AuditFailed, match="config"):
        rescore(tmp_path / "empty", run / "gate-evidence.json")
