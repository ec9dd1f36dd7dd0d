from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from corp.errors import AuditFailed
from corp.evidence import GateEvidence

TASK = {
    "name": "t",
    "data": {"generator": "addition"},
    "prompt": {"user": "{question}"},
    "verifier": {"kind": "exact"},
    "splits": {"support": 2, "select": 2, "gate": 3, "test": 2},
}


def evidence(**changes: Any) -> GateEvidence:
    fields: dict[str, Any] = {
        "task": TASK,
        "engine": {"batch_size": 2, "threads": 1},
        "identity": {"torch": "2"},
        "values": [1.0, math.nan, 0.1],
        "valid": [True, False, True],
        "success": [False, False, True],
        "texts": ["a", "", "ü\n"],
    }
    return GateEvidence(**fields | changes)


def test_evidence_survives_writing_and_reading(tmp_path: Path) -> None:
    path = tmp_path / "gate-evidence.json"
    evidence().write(path)
    assert GateEvidence.read(path) == evidence()
    assert GateEvidence.read(path).outcomes() == [(1.0, False), None, (0.1, True)]


def test_an_invalid_verdict_has_no_value_to_compare() -> None:
    assert evidence(values=[1.0, 0.5, 0.1]).outcomes() == [(1.0, False), None, (0.1, True)]


@pytest.mark.parametrize(
    "changes",
    [
        {"values": [1.0]},
        {"texts": []},
        {"valid": [True] * 4},
        {"success": [True] * 2},
        {"extra": 1},
        {"values": None},
    ],
)
def test_what_does_not_fit_the_gate_split_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "gate-evidence.json"
    path.write_text(json.dumps(json.loads(evidence().model_dump_json()) | changes))
    with pytest.raises(AuditFailed, match="not evidence of a gate"):
        GateEvidence.read(path)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b'{"values": NaN}'])
def test_what_is_no_evidence_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "e.json").write_bytes(text)
    with pytest.raises(AuditFailed, match=r"e\.json"):
        GateEvidence.read(tmp_path / "e.json")


def test_a_verifier_that_this_release_does_not_know_is_named(tmp_path: Path) -> None:
    data = json.loads(evidence().model_dump_json())
    data["task"]["verifier"] = {"kind": "oracle"}
    (tmp_path / "e.json").write_text(json.dumps(data))
    with pytest.raises(AuditFailed, match="oracle"):
        GateEvidence.read(tmp_path / "e.json")
