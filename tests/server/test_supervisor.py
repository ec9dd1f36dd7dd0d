"""Failure drills on real processes: what is killed, and what must go on or end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from server.errors import RemoteRefused
from server.supervisor import ServeSettings, is_loopback, listen
from tests.server.service import REAL, ROOT, SCRIPTED, Service, scripted_job, service, until


def blocks(running: Service, job: str) -> list[str]:
    path = running.data / "jobs" / job / "run" / "blocks"
    return path.read_text().split() if path.exists() else []


def kinds(running: Service, job: str) -> list[str]:
    page = running.http.get(f"/v1/jobs/{job}/events", params={"limit": 100}).json()
    return [event["type"] for event in page["data"]]


def start(running: Service, model: Path, *script: str) -> str:
    """A job that has written its first block."""
    job = str(running.client.create_job(scripted_job(model, *script))["id"])
    until(lambda: running.job(job)["progress"] is not None)
    return job


def serve_again(data: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *REAL[:3], "--data", str(data), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("service")) as running:
        yield running


def kill_worker(running: Service) -> None:
    (worker,) = running.workers()
    os.kill(worker.pid, signal.SIGKILL)


def test_a_killed_worker_is_replaced_and_its_job_goes_on_where_it_stopped(
    shared: Service, tiny_llama: Path
) -> None:
    job = start(shared, tiny_llama, "blocks=10", "pause=0.05")
    kill_worker(shared)
    ended = shared.ended(job)
    assert (ended["status"], ended["attempt"]) == ("succeeded", 2)
    assert sorted(map(int, blocks(shared, job))) == list(range(10))  # nothing lost, nothing twice


@pytest.mark.slow
def test_any_number_of_killed_workers_is_survived_while_the_job_gets_further(
    tmp_path: Path, tiny_llama: Path
) -> None:
    with service(tmp_path) as running:
        job = start(running, tiny_llama, "blocks=60", "pause=0.05")
        for _ in range(5):
            before = len(blocks(running, job))
            kill_worker(running)
            until(partial(got_further, running, job, before))
        ended = running.ended(job)
        assert ended["status"] == "succeeded"
        assert ended["attempt"] >= 4
        assert sorted(map(int, blocks(running, job))) == list(range(60))
        assert kinds(running, job).count("job.interrupted") == ended["attempt"] - 1


def got_further(running: Service, job: str, before: int) -> bool:
    return running.job(job)["finished_at"] is not None or len(blocks(running, job)) > before


@pytest.mark.slow
def test_a_job_that_kills_every_worker_fails_with_the_reason(tmp_path: Path, tiny_llama: Path) -> None:
    with service(tmp_path) as running:
        job = running.client.create_job(scripted_job(tiny_llama, "crash"))["id"]
        ended = running.ended(job)
        assert (ended["status"], ended["error"]["code"]) == ("failed", "worker_lost")
        after = running.client.create_job(scripted_job(tiny_llama))["id"]
        assert running.ended(after)["status"] == "succeeded"  # and the server goes on


@pytest.mark.slow
def test_a_worker_that_hangs_is_killed_and_replaced(tmp_path: Path, tiny_llama: Path) -> None:
    with service(tmp_path, (*SCRIPTED, "--lease", "8")) as running:
        job = start(running, tiny_llama, "blocks=20", "pause=0.05")
        (worker,) = running.workers()
        os.kill(worker.pid, signal.SIGSTOP)
        ended = running.ended(job)
        assert (ended["status"], ended["attempt"]) == ("succeeded", 2)
        assert not worker.is_running()


@pytest.mark.slow
def test_a_killed_supervisor_leaves_no_orphan_and_the_next_one_continues(
    tmp_path: Path, tiny_llama: Path
) -> None:
    with service(tmp_path) as running:
        job = start(running, tiny_llama, "blocks=40", "pause=0.05")
        (worker,) = running.workers()
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
        until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, 5)
        written = blocks(running, job)
    with service(tmp_path) as running:
        assert running.ended(job)["status"] == "succeeded"
        assert blocks(running, job)[: len(written)] == written
        assert sorted(map(int, blocks(running, job))) == list(range(40))


@pytest.mark.slow
def test_sigterm_gives_the_job_back_uncounted_and_exits_with_0(tmp_path: Path, tiny_llama: Path) -> None:
    with service(tmp_path) as running:
        job = start(running, tiny_llama, "blocks=60", "pause=0.05")
        (worker,) = running.workers()
        with running.http.stream("GET", f"/v1/jobs/{job}/events:stream") as stream:
            assert stream.status_code == 200  # an open stream does not hold the shutdown up
            assert running.stop() == 0
        assert not worker.is_running()
    with service(tmp_path) as running:
        ended = running.ended(job)
        assert (ended["status"], ended["attempt"]) == ("succeeded", 2)
        interrupted = running.http.get(f"/v1/jobs/{job}/events", params={"limit": 100}).json()["data"]
        reasons = [event["data"] for event in interrupted if event["type"] == "job.interrupted"]
        assert reasons == [{"reason": "shutdown", "losses": 0}]


def test_a_second_server_on_the_same_data_exits_with_a_message(shared: Service) -> None:
    second = serve_again(shared.data, "--port", "0")
    assert second.returncode == 2
    assert "error [data_locked]" in second.stderr
    assert shared.http.get("/healthz").status_code == 200


def test_a_data_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = serve_again(tmp_path / "file" / "data", "--port", "0")
    assert refused.returncode == 2
    assert "error [directory_unusable]" in refused.stderr


def test_a_taken_port_is_a_clear_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = serve_again(tmp_path, "--port", str(port))
    assert refused.returncode == 2
    assert "error [address_unusable]" in refused.stderr
    assert f"port {port}" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_the_default_bind_is_loopback_and_others_need_a_flag(tmp_path: Path) -> None:
    with pytest.raises(RemoteRefused, match="no authentication"):
        listen(ServeSettings(tmp_path, host="0.0.0.0", port=0))
    with listen(ServeSettings(tmp_path, host="0.0.0.0", port=0, allow_remote=True)) as listener:
        assert listener.getsockname()[0] == "0.0.0.0"
    with listen(ServeSettings(tmp_path, port=0)) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("example.org", False)],
)
def test_loopback_is_told_from_the_rest(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_a_stream_that_is_cut_anywhere_loses_and_repeats_nothing(shared: Service, tiny_llama: Path) -> None:
    job = start(shared, tiny_llama, "blocks=30", "pause=0.05")
    seen: list[int] = []
    done = False
    while not done:
        last = str(seen[-1] if seen else 0)
        url = f"/v1/jobs/{job}/events:stream"
        with shared.http.stream("GET", url, headers={"last-event-id": last}) as stream:
            lines = events_of(stream.iter_lines(), 9)
        seen += [int(line.removeprefix("id: ")) for line in lines if line.startswith("id: ")]
        done = "event: done" in lines
    every = shared.http.get(f"/v1/jobs/{job}/events", params={"limit": 100}).json()["data"]
    assert seen == [event["seq"] for event in every]


def events_of(lines: Iterator[str], most: int) -> list[str]:
    """Up to ``most`` lines and then to the end of the event, as if the connection broke there."""
    found: list[str] = []
    for line in lines:
        found.append(line)
        if line == "" and (len(found) >= most or "event: done" in found):
            break
    return found
