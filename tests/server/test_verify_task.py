"""`corp verify-task` and POST /v1/tasks:validate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from click.testing import CliRunner

from server.cli.verify_task import verify_task
from tests.server.service import ROOT, problem_of, service

LARGER = ROOT / "examples" / "tasks" / "larger.yaml"
LAX = {"kind": "regex", "pattern": "[0-9]"}


def run(*arguments: str) -> Any:
    return CliRunner().invoke(verify_task, list(arguments))


def lax(**changes: Any) -> dict[str, Any]:
    return {**yaml.safe_load(LARGER.read_text()), "verifier": LAX, **changes}


def test_a_sound_task_is_a_table_without_a_failed_probe() -> None:
    done = run(str(LARGER))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("larger: verifier exact on 128 gate rows")
    rows = {line.split()[0]: line.split()[1] for line in lines if line.startswith("  ")}
    assert (rows["oracle"], rows["exploits"]) == ("pass", "skip")
    assert lines[-1] == "no probe fails"


def test_a_task_that_can_be_fooled_ends_with_2_and_shows_the_input(tmp_path: Path) -> None:
    file = tmp_path / "lax.yaml"
    file.write_text(yaml.safe_dump(lax()))
    done = run(str(file))
    assert done.exit_code == 2
    assert "can be fooled or fails: junk" in done.stdout
    assert "scored 1" in done.stdout
    report = json.loads(run(str(file), "--json").stdout)
    assert report["passed"] is False
    junk = next(finding for finding in report["findings"] if finding["probe"] == "junk")
    assert (junk["status"], junk["success"]) == ("fail", 1.0)
    assert junk["worst"]["score"] == 1.0


def test_a_job_file_means_its_task() -> None:
    done = run(str(ROOT / "examples" / "larger.yaml"), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["task"] == "larger"


def test_the_base_is_held_against_the_best_constant() -> None:
    found = json.loads(run(str(LARGER), "--base", "0.0", "--json").stdout)["findings"]
    statuses = {finding["probe"]: finding["status"] for finding in found}
    assert (statuses["constant"], statuses["baseline"]) == ("warn", "warn")
    assert run(str(LARGER), "--base", "1.5").exit_code == 2


@pytest.mark.parametrize(
    ("text", "named"),
    [("a: [", "not valid YAML"), ("name: x", "data"), ("- 1", "task")],
)
def test_what_is_no_task_is_a_named_error(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    done = run(str(file), "--json")
    assert done.exit_code == 2
    assert named in json.loads(done.stdout)["error"]["detail"]
    assert run(str(tmp_path / "missing.yaml")).exit_code == 2


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with service(tmp_path_factory.mktemp("service")) as running, running.http as client:
        yield client


def test_a_server_gives_the_same_report(http: httpx.Client) -> None:
    answer = http.post("/v1/tasks:validate", json=lax())
    assert answer.status_code == 200, answer.text
    assert (answer.json()["object"], answer.json()["passed"]) == ("task.report", False)
    sound = http.post("/v1/tasks:validate?base=0.4", json=yaml.safe_load(LARGER.read_text())).json()
    assert sound["passed"] is True
    here = json.loads(run(str(LARGER), "--base", "0.4", "--json").stdout)
    timed = "latency"
    assert [finding for finding in sound["findings"] if finding["probe"] != timed] == [
        finding for finding in here["findings"] if finding["probe"] != timed
    ]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"verifier": {"kind": "oracle"}}, 422, "verifier_unknown"),
        ({"verifier": {"kind": "function", "object": "subprocess:getoutput"}}, 403, "grader_refused"),
        ({"data": {"path": "rows.jsonl"}}, 422, "path_relative"),
        ({"splits": {"support": 0}}, 422, "spec_invalid"),
        ({"verifier": {"kind": "exact", "field": "gold"}}, 422, "verifier_rejected"),
        ({"model": "/models/x"}, 422, "spec_invalid"),
    ],
)
def test_a_task_that_cannot_be_examined_is_a_problem(
    http: httpx.Client, change: dict[str, Any], status: int, code: str
) -> None:
    answer = http.post("/v1/tasks:validate", json=lax(**change))
    assert (answer.status_code, problem_of(answer)["code"]) == (status, code)


def test_bodies_and_parameters_are_read_as_strictly_as_a_jobs(http: httpx.Client) -> None:
    for body, media, status in ((b"{", "application/json", 400), (b"{}", "text/plain", 415)):
        answer = http.post("/v1/tasks:validate", content=body, headers={"content-type": media})
        assert answer.status_code == status
    assert problem_of(http.post("/v1/tasks:validate?base=2", json=lax()))["code"] == "parameter_invalid"
