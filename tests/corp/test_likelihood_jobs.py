"""Jobs whose reward is a log-probability, from the search to the audit, on the pocket model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from corp.errors import SpecInvalid
from corp.preflight import assemble
from corp.run import execute
from tests.corp.jobs import ignore, never, pocket_job, pocket_spec

ROWS = [(first, second) for first in range(40) for second in range(40)]


def row(first: int, second: int) -> dict[str, Any]:
    total = first + second
    return {
        "question": f"{first:02d}+{second:02d}=",
        "answer": f"{total:03d}",
        "options": [f"{total + off:03d}" for off in (9, 0, 1, 10)],
    }


def job(pocket: Path, verifier: dict[str, Any], **task: Any) -> dict[str, Any]:
    base = pocket_job(pocket)
    sections = {
        "task": {
            **base["task"],
            "data": {"rows": [row(*pair) for pair in ROWS]},
            "verifier": verifier,
            "splits": {"support": 120, "select": 120, "gate": 600, "test": 200},
            **task,
        },
        "population": {"size": 48, "sigmas": [0.005, 0.01, 0.02], "seed": 3},
        "consolidate": {**base["consolidate"], "operators": ["reward_mean", "es", "corp"]},
        "controls": {"k": [2]},
    }
    return {**base, **sections}


def finished(target: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((target / f"{name}.json").read_text())
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "verifier",
    [
        {"kind": "logprob", "choices": "options"},
        {"kind": "mixed", "verifier": {"kind": "exact"}, "weight": 0.3},
    ],
    ids=["logprob", "mixed"],
)
def test_the_search_reads_values_and_the_gate_successes(
    pocket: Path, tmp_path: Path, verifier: dict[str, Any]
) -> None:
    target = tmp_path / "run"
    spec = pocket_spec(
        pocket, **{k: v for k, v in job(pocket, verifier).items() if k not in ("name", "model")}
    )
    report = execute(spec, target, folder=tmp_path, emit=ignore, cancelled=never)
    baseline, search = finished(target, "baseline"), finished(target, "search")
    assert baseline["base"] < baseline["success"] < 1  # log-probabilities are negative
    assert baseline["null_differs"] == 0
    assert len(set(search["rewards"])) > 40
    gate = report["gate"]
    assert 0 <= gate["base"] <= 1
    assert round(gate["base"] * gate["n"]) == pytest.approx(gate["base"] * gate["n"])  # a count of prompts
    assert gate["fixes"] - gate["regressions"] == pytest.approx(gate["gain"] * gate["n"])
    assert report["outcome"] == "improved"
    assert finished(target, "audit")["texts_differing"] == 0
    rows = {line["name"]: line for line in finished(target, "controls")["rows"]}
    assert rows["chosen"]["score"] > rows["base"]["score"]
    text = (target / "report.html").read_text()
    assert "NaN" not in text
    json.dumps(finished(target, "report"), allow_nan=False)
    assert all(math.isfinite(value) for value in search["rewards"])


def test_drawing_samples_for_a_verifier_that_reads_none_is_refused(pocket: Path, tmp_path: Path) -> None:
    sections = job(pocket, {"kind": "logprob", "choices": "options"})
    spec = pocket_spec(pocket, task=sections["task"], gate={"samples": 4})
    with pytest.raises(SpecInvalid, match=r"gate\.samples is 4, but verifier logprob reads no completion"):
        assemble(spec, tmp_path)
    mixed = job(pocket, {"kind": "mixed", "verifier": {"kind": "exact"}})
    assemble(pocket_spec(pocket, task=mixed["task"], gate={"samples": 4}), tmp_path).close()
