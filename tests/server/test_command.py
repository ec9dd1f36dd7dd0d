from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from server.cli.specfile import portable, read_job
from server.command import corp, main
from tests.server.service import Service, scripted_job, service


def call(*arguments: str) -> Result:
    return CliRunner().invoke(corp, arguments)


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, found in group.commands.items():
        if isinstance(found, click.Group):
            yield from leaves(found, (*path, name))
        else:
            yield (*path, name), found


@pytest.fixture
def spec(tmp_path: Path, tiny_llama: Path) -> Path:
    """A job whose task stands in a file of its own, with its rows beside that."""
    job = scripted_job(tiny_llama)
    task = {**job.pop("task"), "data": {"path": "rows.jsonl"}, "prompt": {"user": "{a}?"}}
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "task.yaml").write_text(yaml.safe_dump(task))
    rows = (json.dumps({"a": f"{number}", "answer": f"{number + 1}"}) for number in range(60))
    (tmp_path / "tasks" / "rows.jsonl").write_text("\n".join(rows))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump({**job, "task": "tasks/task.yaml"}))
    return tmp_path / "job.yaml"


@pytest.mark.parametrize(("path", "found"), [(" ".join(path), found) for path, found in leaves(corp)])
def test_every_command_has_json_and_a_help_with_an_example(path: str, found: click.Command) -> None:
    help_text = call(*path.split(), "--help").output
    assert "--json" in help_text
    assert f"Example: corp {path}" in " ".join(help_text.split())
    for parameter in found.params:
        if isinstance(parameter, click.Option):
            assert parameter.help


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys; from server.command import corp; corp(['--help'], standalone_mode=False); "
        "heavy = {'torch', 'transformers', 'numba', 'scipy', 'numpy', 'fastapi', 'sqlalchemy', 'httpx'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_version_is_one_json_document() -> None:
    assert set(json.loads(call("version", "--json").stdout)) == {"version", "python"}


def test_check_says_that_a_job_can_run_without_running_it(spec: Path) -> None:
    done = call("run", str(spec), "--check", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["splits"] == {"support": 8, "select": 8, "gate": 30, "test": 8}
    assert not (spec.parent / "runs").exists()


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("model=/nowhere", "model_missing"),
        ("population.size=1", "spec_invalid"),
        ("population.size", "spec_invalid"),
        ("population.size=[1", "spec_invalid"),
        (".size=3", "spec_invalid"),
        ("task.splits.gate=1000", "too_few_rows"),
        ("task.verifier.kind=oracle", "verifier_unknown"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(spec: Path, override: str, code: str) -> None:
    done = call("run", str(spec), "--check", "--set", override, "--json")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error [{code}]: ")
    assert done.stderr.count("\n") == 1
    assert json.loads(done.stdout)["error"]["code"] == code


@pytest.mark.parametrize(
    ("line", "detail", "where"),
    [
        ("run job.yaml --sett a=1", "No such option '--sett'", "corp run --help"),
        ("jobs list --status bad", "'bad' is not one of 'queued'", "corp jobs list --help"),
        ("jobs get", "Missing argument 'JOB_ID'", "corp jobs get --help"),
        ("rnu", "No such command 'rnu'", "corp --help"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_json_too(
    line: str, detail: str, where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["corp", *line.split(), "--json"])
    with pytest.raises(SystemExit) as caught:
        main()
    out, err = capsys.readouterr()
    assert caught.value.code == 2
    assert err.startswith("error [usage]: ")
    assert detail in err
    assert err.count("\n") == 1
    error = json.loads(out)["error"]
    assert detail in error["detail"]
    assert where in error["hint"]


def test_a_group_without_a_command_shows_its_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["corp", "jobs"])
    with pytest.raises(SystemExit):
        main()
    assert "watch" in capsys.readouterr().err


def test_a_missing_file_and_broken_yaml_are_clear_errors(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    for path in (tmp_path / "none.yaml", broken):
        done = call("run", str(path))
        assert done.exit_code == 2
        assert str(path) in done.stderr


def test_overrides_reach_every_field_and_are_yaml(spec: Path) -> None:
    changed, _ = read_job(
        spec, ["population.sigmas=[0.1, 0.2]", "task.seed=7", "engine.threads=1", "name=other"]
    )
    assert changed.population.sigmas == (0.1, 0.2)
    assert (changed.task.seed, changed.engine.threads, changed.name) == (7, 1, "other")


def test_a_job_for_a_server_carries_its_rows_and_scores_the_same(spec: Path) -> None:
    from corp.spec import parse
    from verify.task import load_task

    job, folder = read_job(spec, [])
    sent = portable(job, folder)
    assert "rows.jsonl" not in json.dumps(sent)
    here = load_task(job.task, folder)
    there = load_task(parse(sent, "sent").task, Path("/nowhere"))
    assert there.digest == here.digest
    assert there.splits == here.splits


def test_a_guards_rows_are_sent_along(spec: Path) -> None:
    job = yaml.safe_load(spec.read_text())
    spec.write_text(yaml.safe_dump({**job, "gate": {"guards": [{"task": "tasks/task.yaml"}]}}))
    sent = portable(*read_job(spec, []))
    (guard,) = sent["gate"]["guards"]
    assert "rows.jsonl" not in json.dumps(guard)
    assert len(guard["task"]["data"]["gate"]["rows"]) == 30


def test_a_relative_model_directory_becomes_absolute(
    spec: Path, tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_llama.parent)
    job, folder = read_job(spec, [f"model={tiny_llama.name}"])
    assert portable(job, folder)["model"] == str(tiny_llama)
    job, folder = read_job(spec, ["model=organization/model"])
    assert portable(job, folder)["model"] == "organization/model"


def test_without_a_server_the_error_says_how_to_start_one() -> None:
    done = call("jobs", "list", "--url", "http://127.0.0.1:9")
    assert done.exit_code == 2
    assert "error [server_unreachable]" in done.stderr
    assert "corp serve" in done.stderr


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("service")) as found:
        yield found


def test_jobs_are_created_watched_listed_and_shown(spec: Path, running: Service) -> None:
    made = call("jobs", "create", str(spec), "--url", running.url)
    assert made.exit_code == 0, made.stderr
    job = made.stdout.strip()
    watched = call("jobs", "watch", job, "--url", running.url, "--json")
    assert watched.exit_code == 0
    lines = [json.loads(line) for line in watched.stdout.splitlines()]
    assert [line["type"] for line in lines][:2] == ["job.created", "job.started"]
    assert lines[-1] == {"type": "done", "data": {"status": "succeeded", "outcome": "no_improvement"}}
    listed = json.loads(call("jobs", "list", "--url", running.url, "--json").stdout)
    assert listed["data"][0]["id"] == job
    shown = call("jobs", "get", job, "--url", running.url)
    assert "NO IMPROVEMENT" in shown.stdout
    nothing = call("jobs", "list", "--status", "queued", "--url", running.url)
    assert (nothing.stdout, nothing.stderr) == ("", "no jobs\n")


def test_watching_a_failed_job_fails(spec: Path, running: Service) -> None:
    done = call("jobs", "create", str(spec), "--set", "task.stop=[fail]", "--watch", "--url", running.url)
    assert done.exit_code == 1
    assert "error [calibration_failed]: no sigma moves the model" in done.stdout


def test_a_paused_job_is_resumed(spec: Path, running: Service) -> None:
    done = call("jobs", "create", str(spec), "--set", "task.stop=[mute]", "--watch", "--url", running.url)
    assert done.exit_code == 1
    assert "error [paused]: no verdict is valid" in done.stdout
    job = done.stdout.splitlines()[0]
    (running.data / "jobs" / job / "run" / "mended").touch()
    resumed = call("jobs", "resume", job, "--url", running.url)
    assert (resumed.exit_code, resumed.stdout) == (0, f"{job} is queued\n")
    assert call("jobs", "watch", job, "--url", running.url).exit_code == 0


def test_cancel_and_unknown_ids(spec: Path, running: Service) -> None:
    options = ("--set", "task.stop=[blocks=1000, pause=0.05]", "--url", running.url, "--json")
    job = json.loads(call("jobs", "create", str(spec), *options).stdout)["id"]
    cancelled = call("jobs", "cancel", job, "--url", running.url)
    assert cancelled.exit_code == 0
    assert running.ended(job)["status"] == "cancelled"
    for action in ("get", "watch", "cancel", "resume"):
        unknown = call("jobs", action, "job_unknown", "--url", running.url)
        assert unknown.exit_code == 2
        assert "error [job_unknown]" in unknown.stderr


def test_the_servers_refusal_names_the_fields(spec: Path, running: Service) -> None:
    refused = call("jobs", "create", str(spec), "--set", "model=/nowhere", "--url", running.url)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error [model_missing]: ")


def test_doctor_marks_every_check(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, Any] = json.loads(call("doctor", "--json").stdout)
    levels = {check["name"]: check["level"] for check in found["checks"]}
    assert levels["noise"] == levels["sqlite"] == levels["torch"] == "ok"
    monkeypatch.setattr("server.checkup.KNOWN", (0.0,) * 6)
    failed = call("doctor", "--json")
    assert failed.exit_code == 2
    assert not json.loads(failed.stdout)["ok"]
