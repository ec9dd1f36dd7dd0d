"""The gate of a real run: killed in the middle, resumed, and asked a second question."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from corp.errors import GateSpent
from corp.gate.ledger import NAME
from corp.results import publish_result, read_result
from corp.run import execute
from corp.spec import JobSpec
from population.direction import Direction
from tests.corp.jobs import ignore, never, pocket_spec
from tests.corp.test_gatecheck import guard

RUN = """
import sys
from pathlib import Path
from corp.run import execute
from corp.spec import JobSpec
spec = JobSpec.model_validate_json(Path(sys.argv[1]).read_text())
execute(spec, Path(sys.argv[2]), folder=Path("/"), emit=lambda *_: None, cancelled=lambda: False)
"""


def spec_of(pocket: Path) -> JobSpec:
    """Two proposals and a guard: sums of other numbers, which must not get worse."""
    gate = {"proposals": 2, "guards": [{"task": guard("sums", gate=600), "margin": 0.05}]}
    consolidate = {"operators": ["reward_mean", "top1"], "q": [0.5], "beta": [10], "scales": [2, 4, 6]}
    return pocket_spec(pocket, gate=gate, consolidate=consolidate, engine={"batch_size": 100, "threads": 1})


def killed_at_the_gate(spec: JobSpec, folder: Path) -> Path:
    """The run directory of a process that was killed while it scored the gate split."""
    (folder / "spec.json").write_text(spec.model_dump_json())
    target = folder / "run"
    process = subprocess.Popen([sys.executable, "-c", RUN, folder / "spec.json", target])
    try:
        until(lambda: (target / NAME).exists() or process.poll() is not None)
        process.kill()
    finally:
        process.kill()
        process.wait()
    assert not (target / "gate.json").exists()
    return target


def until(condition: Any, patience: float = 300.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow
def test_a_killed_gate_continues_with_its_candidates_and_refuses_others(pocket: Path, tmp_path: Path) -> None:
    spec = spec_of(pocket)
    target = killed_at_the_gate(spec, tmp_path)
    recorded = (target / NAME).read_bytes()
    report = execute(spec, target, folder=tmp_path, emit=ignore, cancelled=never)
    undisturbed = tmp_path / "undisturbed"
    execute(spec, undisturbed, folder=tmp_path, emit=ignore, cancelled=never)
    assert report["outcome"] == "improved"
    assert (target / NAME).read_bytes() == recorded == (undisturbed / NAME).read_bytes()
    for name in ("gate.json", "recipe.json"):
        assert (target / name).read_bytes() == (undisturbed / name).read_bytes()
    assert_guarded(json.loads((target / "gate.json").read_text()))
    assert_spent(spec, target)


def assert_guarded(gate: dict[str, Any]) -> None:
    """The winner was held against the guard on its own prompts, those after it were not."""
    winner = next(row for row in gate["proposals"] if row["accepted"])
    assert [one["task"] for one in winner["guards"]] == ["sums"]
    assert winner["guards"][0]["n"] == 600
    assert winner["guards"][0]["bound"] > -0.05
    assert gate["key"] == winner["key"]


def assert_spent(spec: JobSpec, target: Path) -> None:
    """Another candidate on the same prompts."""
    found = read_result(target, "consolidate")
    (target / "gate.json").unlink()
    for row in found["finalists"]:
        row["direction"] = (Direction.from_json(row["direction"]) * 1.5).to_json()
    publish_result(target, "consolidate", found)
    with pytest.raises(GateSpent, match="was used in look gate"):
        execute(spec, target, folder=target, emit=ignore, cancelled=never)
