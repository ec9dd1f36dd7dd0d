"""Servers in processes of their own, on ports of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from server.client import Client

ROOT = Path(__file__).parents[2]
SCRIPTED = ("-m", "tests.server.scripted", "serve")
REAL = ("-m", "server.command", "serve", "--port", "0", "--json")
PATIENCE = 60.0


@dataclass
class Service:
    """A running server."""

    process: subprocess.Popen[str]
    url: str
    data: Path

    @property
    def http(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=30, trust_env=False)

    @property
    def client(self) -> Client:
        return Client(self.url)

    def workers(self) -> list[psutil.Process]:
        """Its worker processes, usually one."""
        children = psutil.Process(self.process.pid).children()
        return [child for child in children if child.status() != psutil.STATUS_ZOMBIE]

    def job(self, job: str) -> dict[str, Any]:
        return self.client.job(job)

    def ended(self, job: str, patience: float = PATIENCE) -> dict[str, Any]:
        """The job once it has ended."""
        until(lambda: self.job(job)["finished_at"] is not None, patience)
        return self.job(job)

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def service(data: Path, command: tuple[str, ...] = SCRIPTED) -> Iterator[Service]:
    """A server on ``data``, stopped at the end if it still runs."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, *command, "--data", str(data)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout as output:
        try:
            url = json.loads(output.readline())["url"]
            yield Service(process, url, data)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENCE)


def until(condition: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait for something that must happen."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def scripted_job(model: Path, *script: str, **changes: Any) -> dict[str, Any]:
    """A job that passes every check, with a script for `tests.server.scripted`."""
    return {
        "name": "scripted",
        "model": str(model),
        "task": {
            "name": "addition",
            "data": {"generator": "addition", "seed": 0},
            "prompt": {"user": "{question}"},
            "verifier": {"kind": "exact"},
            "splits": {"support": 8, "select": 8, "gate": 30, "test": 8},
            "max_new_tokens": 4,
            "stop": list(script),
        },
        "population": {"size": 4},
        "consolidate": {"min_elites": 1},
        **changes,
    }


def problem_of(response: httpx.Response) -> Mapping[str, Any]:
    """The problem in an error answer, after checking that it is one."""
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert set(body) >= {"type", "title", "status", "detail", "instance", "code", "request_id"}
    assert body["status"] == response.status_code
    assert body["type"].endswith(body["code"])
    assert body["request_id"] == response.headers["x-request-id"]
    return body
