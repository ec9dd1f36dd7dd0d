"""A job whose verifier can be fooled does not start; a run asks once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corp.preflight import assemble, claim, open_run
from corp.run import prepare
from corp.verifiercheck import NAME, Examined, remarks, store, stored
from tests.corp.jobs import pocket_job, pocket_spec
from verify.errors import VerifierRejected
from verify.hackability import Status
from verify.task import Task

ANYWHERE = {"kind": "regex", "pattern": "[0-9]"}


def task(pocket: Path, **changes: Any) -> dict[str, Any]:
    return {**pocket_job(pocket)["task"], **changes}


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tasks that are examined from now on."""
    names: list[str] = []
    check = Task.check

    def checking(self: Task) -> Any:
        names.append(self.name)
        return check(self)

    monkeypatch.setattr(Task, "check", checking)
    return names


def test_a_verifier_that_can_be_fooled_stops_a_job_before_its_directory_exists(
    pocket: Path, tmp_path: Path
) -> None:
    spec = pocket_spec(pocket, task=task(pocket, verifier=ANYWHERE))
    with pytest.raises(VerifierRejected, match=r"verifier regex fails probe \w+: .* the input .* scored 1"):
        prepare(spec, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_guard_that_can_be_fooled_is_named(pocket: Path, tmp_path: Path) -> None:
    guard = {"task": task(pocket, name="lax", verifier=ANYWHERE), "margin": 0.1}
    with pytest.raises(VerifierRejected, match="guard lax: verifier regex fails probe"):
        prepare(pocket_spec(pocket, gate={"guards": [guard]}), tmp_path)


def test_what_the_task_says_openly_lets_it_start(pocket: Path, tmp_path: Path) -> None:
    """Only the form of the answer is asked for, so one answer is right everywhere."""
    form = {"kind": "regex", "pattern": "^[0-9]+$"}
    with pytest.raises(VerifierRejected, match="junk"):
        prepare(pocket_spec(pocket, task=task(pocket, verifier=form)), tmp_path)
    prepare(pocket_spec(pocket, task=task(pocket, verifier=form, allow={"constant": 1.0})), tmp_path)


def test_a_run_examines_each_task_once_and_says_what_it_found(
    pocket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = {"task": task(pocket, name="guard", data={"generator": "addition", "seed": 5}), "margin": 0.1}
    spec, target = pocket_spec(pocket, gate={"guards": [guard]}), tmp_path / "run"
    names = counted(monkeypatch)
    prepared = assemble(spec, tmp_path, target)
    assert names == ["addition", "guard"]
    claim(target)
    opened = open_run(prepared, target)
    facts = opened.facts()["verifier"]
    assert isinstance(facts, dict)
    assert (facts["passed"], facts["rows"], facts["probes"]["oracle"]) == (True, 128, "pass")
    kept = json.loads((target / NAME).read_text())["tasks"]
    assert [report["task"] for report in kept] == ["addition", "guard"]
    again = assemble(opened.spec, target, target)
    assert names == ["addition", "guard"]
    assert again.report == prepared.report
    for one in (prepared, again):
        one.close()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tasks": [1]}', '{"tasks": [{"task": "t"}]}', "\xff"])
def test_a_file_that_is_none_of_ours_is_asked_anew(
    pocket: Path, tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / NAME).write_text(text, encoding="latin-1")
    names = counted(monkeypatch)
    assert stored(tmp_path) == {}
    assemble(pocket_spec(pocket), tmp_path, tmp_path).close()
    assert names == ["addition"]


def test_a_report_with_a_failed_probe_is_never_trusted(pocket: Path, tmp_path: Path) -> None:
    prepared = assemble(pocket_spec(pocket), tmp_path)
    first = replace(prepared.report.findings[0], status=Status.FAIL)
    store(tmp_path, [replace(prepared.report, findings=(first,))])
    assert stored(tmp_path) == {}
    store(tmp_path, [prepared.report])
    assert stored(tmp_path) == {prepared.task.digest: prepared.report}
    assert Examined(tmp_path).report(prepared.task) == prepared.report
    prepared.close()


def test_the_log_says_where_a_constant_does_as_well_as_the_base(pocket: Path, tmp_path: Path) -> None:
    prepared = assemble(pocket_spec(pocket), tmp_path)
    prepared.close()
    assert remarks(prepared.report, {"success": 0.5}) == []
    weak = remarks(prepared.report, {"success": 0.0})
    assert [line.partition(":")[0] for line in weak] == ["warning", "warning"]
    assert "constant" in weak[0]
    assert "baseline" in weak[1]
