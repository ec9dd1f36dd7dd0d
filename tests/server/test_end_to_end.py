"""The main job on the pocket model: through the command, through the API, and through a storm of kills."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.corp.jobs import pocket_job
from tests.server.service import REAL, ROOT, Service, problem_of, service, until

pytestmark = pytest.mark.slow

PATIENCE = 400.0


def job_of(pocket: Path) -> dict[str, Any]:
    """The pocket job, smaller where that leaves its gain clear."""
    job = pocket_job(pocket)
    job["task"]["splits"] = {"support": 200, "select": 200, "gate": 400, "test": 200}
    job["population"] = {"size": 48, "sigmas": [0.01, 0.02], "seed": 3}
    job["engine"] = {"batch_size": 50, "threads": 1}
    return job


def command(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "server.command", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@dataclass
class Undisturbed:
    """What ``corp run`` made of the job."""

    report: dict[str, Any]
    run: Path


@pytest.fixture(scope="module")
def undisturbed(pocket: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("command")
    (folder / "pocket.yaml").write_text(yaml.safe_dump(job_of(pocket)))
    done = command("run", str(folder / "pocket.yaml"), "--out", str(folder / "run"), "--json")
    assert done.returncode == 0, done.stderr
    return Undisturbed(json.loads(done.stdout), folder / "run")


@pytest.fixture(scope="module")
def disturbed(
    pocket: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, dict[str, Any]]]:
    """The same job through the API, its worker killed ten times at random moments."""
    moments = random.Random(0)
    with service(tmp_path_factory.mktemp("service"), REAL) as running:
        job = running.client.create_job(job_of(pocket))["id"]
        for _ in range(10):
            until(lambda: running.job(job)["status"] in ("running", "succeeded", "failed"))
            time.sleep(moments.uniform(0.2, 9.0))
            for worker in running.workers():
                os.kill(worker.pid, signal.SIGKILL)
        yield running, running.ended(job, PATIENCE)


def test_the_command_finds_an_improvement_and_its_verdict(undisturbed: Undisturbed) -> None:
    report = undisturbed.report
    assert report["outcome"] == "improved"
    assert report["gate"]["interval"][0] > 0
    assert report["directory"] == str(undisturbed.run)


def test_ten_kills_change_neither_scores_nor_recipe_nor_tensors(
    undisturbed: Undisturbed, disturbed: tuple[Service, dict[str, Any]]
) -> None:
    _, job = disturbed
    assert (job["status"], job["outcome"]) == ("succeeded", "improved")
    assert job["attempt"] > 1
    checkpoint = Path(job["checkpoint"]["path"])
    for file in ("recipe.json", "model.safetensors", "manifest.json"):
        assert (checkpoint / file).read_bytes() == (undisturbed.run / "checkpoint" / file).read_bytes()
    for phase in ("search", "consolidate"):
        ours, theirs = (
            json.loads((run / f"{phase}.json").read_text()) for run in (checkpoint.parent, undisturbed.run)
        )
        assert ours == theirs
    assert job["report"]["gate"] == undisturbed.report["gate"]


def test_the_checkpoint_is_served_whole_and_in_ranges(disturbed: tuple[Service, dict[str, Any]]) -> None:
    running, job = disturbed
    url = f"/v1/checkpoints/{job['checkpoint']['id']}"
    with running.http as http:
        shown = http.get(url).json()
        assert shown["job_id"] == job["id"]
        assert shown["gate"] == job["report"]["gate"]
        assert shown["recipe_sha256"] == job["report"]["recipe"]
        for file in shown["files"]:
            data = http.get(f"{url}/files/{file['name']}").content
            assert (len(data), hashlib.sha256(data).hexdigest()) == (file["bytes"], file["sha256"])
        part = http.get(f"{url}/files/model.safetensors", headers={"range": "bytes=8-99"})
        assert part.status_code == 206
        assert part.content == http.get(f"{url}/files/model.safetensors").content[8:100]
        for name in ("../report.json", "..%2freport.json", "%2e%2e/report.json", "/etc/passwd", "nothing"):
            answer = http.get(f"{url}/files/{name}")
            assert answer.status_code == 404
            problem_of(answer)


def test_the_checkpoint_verifies_and_one_changed_byte_does_not(
    disturbed: tuple[Service, dict[str, Any]],
) -> None:
    _, job = disturbed
    checkpoint = Path(job["checkpoint"]["path"])
    good = command("verify", str(checkpoint), "--json")
    assert good.returncode == 0, good.stderr
    assert json.loads(good.stdout)["prompts"] == 400
    shard = checkpoint / "model.safetensors"
    whole = shard.read_bytes()
    try:
        shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        bad = command("verify", str(checkpoint), "--json")
    finally:
        shard.write_bytes(whole)
    assert bad.returncode == 2
    assert json.loads(bad.stdout)["error"]["code"] == "audit_failed"


def test_an_interrupted_run_says_how_to_go_on_and_does(
    pocket: Path, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    (tmp_path / "pocket.yaml").write_text(yaml.safe_dump(job_of(pocket)))
    arguments = [
        sys.executable,
        "-m",
        "server.command",
        "run",
        str(tmp_path / "pocket.yaml"),
        "--out",
        "out",
        "--json",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(arguments, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    until(lambda: (tmp_path / "out" / "baseline.json").exists(), PATIENCE)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "the same command continues there" in complaint
    done = command(*arguments[3:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "recipe.json").read_bytes() == (undisturbed.run / "recipe.json").read_bytes()
