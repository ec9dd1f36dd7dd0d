"""What is refused and what is said about the gate before anything is scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corp.errors import GateTooSmall, GuardInvalid, SpecInvalid
from corp.gate.power import detectable_gain
from corp.gatecheck import outlook, statement
from corp.preflight import assemble, claim, open_run
from corp.run import prepare
from corp.spec import GateSpec, load_spec, parse
from tests.corp.jobs import pocket_job, pocket_spec
from verify.errors import DataUnusable, SplitOverlap

COUNTS = {"support": 8, "select": 8, "gate": 40, "test": 8}


def guard(name: str = "guard", gate: int = 500, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "data": {"generator": "addition", "seed": 1},
        "prompt": {"user": "{question}"},
        "verifier": {"kind": "exact"},
        "splits": {"support": 1, "select": 1, "gate": gate, "test": 1},
        "max_new_tokens": 4,
        **changes,
    }


def test_a_gate_split_of_fewer_than_thirty_prompts_is_refused_by_name(pocket: Path, tmp_path: Path) -> None:
    task = pocket_job(pocket)["task"]
    for gate, refused in ((29, True), (30, False)):
        spec = pocket_spec(pocket, task={**task, "splits": {**COUNTS, "gate": gate}})
        if refused:
            with pytest.raises(GateTooSmall, match=r"the gate split has 29 prompts; .* at least 30"):
                prepare(spec, tmp_path)
        else:
            prepare(spec, tmp_path)


def test_more_prompts_can_be_asked_for_but_not_fewer(pocket: Path, tmp_path: Path) -> None:
    task = {**pocket_job(pocket)["task"], "splits": COUNTS}
    with pytest.raises(GateTooSmall, match="at least 50"):
        prepare(pocket_spec(pocket, task=task, gate={"min_prompts": 50}), tmp_path)
    with pytest.raises(SpecInvalid, match=r"gate\.min_prompts"):
        pocket_spec(pocket, gate={"min_prompts": 10})


def rows(first: int, count: int) -> list[dict[str, str]]:
    return [{"question": f"{i}+1=", "answer": str(i + 1)} for i in range(first, first + count)]


@pytest.mark.parametrize("how", ["path", "rows", "generator"])
def test_the_test_split_cannot_serve_as_gate_too(pocket: Path, tmp_path: Path, how: str) -> None:
    (tmp_path / "held-out.jsonl").write_text("\n".join(map(json.dumps, rows(100, 40))))
    held_out: dict[str, Any] = {
        "path": {"path": "held-out.jsonl"},
        "rows": {"rows": rows(100, 40)},
        "generator": {"generator": "addition", "seed": 5},
    }[how]
    sources = {"support": {"rows": rows(0, 8)}, "select": {"rows": rows(50, 8)}, "gate": held_out}
    task = {**pocket_job(pocket)["task"], "data": {**sources, "test": held_out}, "splits": COUNTS}
    with pytest.raises(SplitOverlap, match=r"gate .* and test .* both ask"):
        prepare(pocket_spec(pocket, task=task), tmp_path)


def test_one_shared_row_between_gate_and_test_is_enough(pocket: Path, tmp_path: Path) -> None:
    parts = {"support": rows(0, 8), "select": rows(50, 8), "gate": rows(100, 40), "test": rows(139, 8)}
    data = {name: {"rows": part} for name, part in parts.items()}
    task = {**pocket_job(pocket)["task"], "data": data, "splits": COUNTS}
    with pytest.raises(SplitOverlap, match=r"139\+1="):
        prepare(pocket_spec(pocket, task=task), tmp_path)


def test_a_guard_that_nothing_could_pass_is_refused(pocket: Path, tmp_path: Path) -> None:
    spec = pocket_spec(pocket, gate={"guards": [{"task": guard(gate=200)}]})
    with pytest.raises(GuardInvalid, match=r"guard has 200 gate prompts; .* an unchanged model needs 381"):
        prepare(spec, tmp_path)
    prepare(pocket_spec(pocket, gate={"guards": [{"task": guard(gate=200), "margin": 0.02}]}), tmp_path)
    gate = {"proposals": 2, "guards": [{"task": guard(gate=200), "margin": 0.02}]}
    with pytest.raises(GuardInvalid):  # each guard is held at half the level
        prepare(pocket_spec(pocket, gate=gate), tmp_path)


def test_what_is_wrong_with_a_guards_data_names_the_guard(pocket: Path, tmp_path: Path) -> None:
    task = guard("copying", data={"path": "absent.jsonl"})
    with pytest.raises(DataUnusable, match=r"guard copying: .*absent\.jsonl is not a file"):
        prepare(pocket_spec(pocket, gate={"guards": [{"task": task}]}), tmp_path)


def test_two_guards_of_one_name_and_odd_margins_are_refused(pocket: Path) -> None:
    with pytest.raises(SpecInvalid, match="two guards are called guard"):
        pocket_spec(pocket, gate={"guards": [{"task": guard()}, {"task": guard()}]})
    for margin in (0, -0.1, 1, float("nan")):
        with pytest.raises(SpecInvalid, match="margin"):
            pocket_spec(pocket, gate={"guards": [{"task": guard(), "margin": margin}]})


@pytest.mark.parametrize("change", [{"policy": "lax"}, {"proposals": 0}, {"proposals": 6}, {"metric": "x"}])
def test_gates_that_do_not_exist_are_refused(pocket: Path, change: dict[str, Any]) -> None:
    with pytest.raises(SpecInvalid, match=next(iter(change))):
        pocket_spec(pocket, gate=change)


def test_a_stored_spec_has_the_guards_rows_and_resumes(pocket: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows(0, 503))))
    spec = pocket_spec(pocket, gate={"guards": [{"task": guard(data={"path": "rows.jsonl"})}]})
    prepared = assemble(spec, tmp_path)
    claim(tmp_path / "run")
    stored = open_run(prepared, tmp_path / "run").spec
    (tmp_path / "rows.jsonl").unlink()
    again = assemble(stored, Path("/nowhere"))
    assert again.guards[0].digest == prepared.guards[0].digest
    assert open_run(again, tmp_path / "run").spec == stored
    assert again.facts()["guards"] == {"guard": 500}


def yaml_job(pocket: Path, folder: Path, task: object) -> Path:
    job = {**pocket_job(pocket), "gate": {"guards": [{"task": task}]}}
    (folder / "job.yaml").write_text(json.dumps(job))  # JSON is YAML
    return folder / "job.yaml"


def test_a_guards_file_and_its_rows_are_found_from_where_they_lie(pocket: Path, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/rows.jsonl").write_text("\n".join(map(json.dumps, rows(0, 503))))
    (tmp_path / "tasks/guard.yaml").write_text(json.dumps(guard(data={"path": "rows.jsonl"})))
    spec, folder = load_spec(yaml_job(pocket, tmp_path, "tasks/guard.yaml"))
    assert len(assemble(spec, folder).guards[0].splits["gate"]) == 500
    inline = guard(data={name: {"path": "tasks/rows.jsonl"} for name in COUNTS})
    spec, folder = load_spec(yaml_job(pocket, tmp_path, inline))
    with pytest.raises(SplitOverlap, match="guard guard: "):  # found, and one file for two splits
        assemble(spec, folder)


def test_a_missing_guard_task_is_refused_by_name(pocket: Path, tmp_path: Path) -> None:
    with pytest.raises(GuardInvalid, match=r"gate\.guards\.0\.task: .*absent\.yaml cannot be read"):
        load_spec(yaml_job(pocket, tmp_path, "absent.yaml"))
    for nothing in ({"gate": {"guards": [{}]}}, {"gate": {"guards": [{"task": None}]}}):
        with pytest.raises(SpecInvalid, match=r"gate\.guards\.0\.task"):
            parse({**pocket_job(pocket), **nothing}, "job")


def test_the_outlook_counts_the_proposals() -> None:
    one, five = outlook(GateSpec(), 400), outlook(GateSpec(proposals=5), 400)
    assert one["detectable_gain"] == detectable_gain(400, 0.2)
    assert five["detectable_gain"] == detectable_gain(400, 0.2, alpha=0.01)
    assert five["detectable_gain"] > one["detectable_gain"]
    assert "warning" not in one


def test_the_log_states_the_gain_that_can_be_shown_and_warns_where_it_is_out_of_reach() -> None:
    assert statement(GateSpec(), 400).startswith("400 gate prompts show a gain from 6.4 points on")
    assert statement(GateSpec(), 30).startswith("warning: 30 gate prompts")
    assert "only 3.0 are left" in statement(GateSpec(), 400, base=0.97)
    assert "policy is paper" in statement(GateSpec(policy="paper"), 400)
