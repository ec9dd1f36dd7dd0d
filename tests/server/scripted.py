"""Servers whose jobs are scripts: real processes, ports, locks and database, but no model.

A job writes numbered blocks into ``run/blocks``, as a run stores scores, and goes on from there when it is
taken up again. The task's ``stop`` strings are its script: ``blocks=40``, ``pause=0.05`` seconds each, and
``fail``, ``bug`` or ``crash`` at the first block, and ``mute`` behind the first one until the run directory
holds a file called ``mended``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from corp.errors import CalibrationFailed, Cancelled, Paused
from corp.spec import JobSpec
from server import leases, supervisor
from server.worker import work


def execute(
    spec: JobSpec,
    target: Path,
    *,
    folder: Path,
    emit: Callable[[str, Mapping[str, object]], None],
    cancelled: Callable[[], bool],
) -> dict[str, Any]:
    script = dict(word.partition("=")[::2] for word in spec.task.stop)
    blocks, pause = int(script.get("blocks", "3")), float(script.get("pause", "0"))
    target.mkdir(parents=True, exist_ok=True)
    ledger = target / "blocks"
    done = len(ledger.read_text().splitlines()) if ledger.exists() else 0
    emit("phase.started", {"phase": "search"})
    while done < blocks:
        if cancelled():
            raise Cancelled("stopped")
        time.sleep(pause)
        if "fail" in script:
            raise CalibrationFailed("no sigma moves the model", hint="raise the target")
        if "mute" in script and done == 1 and not (target / "mended").exists():
            raise Paused("no verdict is valid", hint="fix the verifier", folder=target, facts={})
        if "bug" in script:
            raise ZeroDivisionError("secret of the traceback")
        if "crash" in script:
            os.kill(os.getpid(), signal.SIGKILL)
        with ledger.open("a") as file:
            file.write(f"{done}\n")
        done += 1
        emit("phase.progress", {"phase": "search", "split": "support", "done": done, "total": blocks})
    emit("phase.finished", {"phase": "search", "seconds": 0})
    return {"outcome": "no_improvement", "reason": "a script", "checkpoint": None, "gate": None, "test": None}


@click.group()
def scripted() -> None:
    pass


@scripted.command("worker")
@click.option("--data", type=click.Path(path_type=Path), required=True)
def worker(data: Path) -> None:
    work(data, True, execute)


@scripted.command("serve")
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--lease", type=float, default=leases.LEASE_SECONDS)
def serve(data: Path, lease: float) -> None:
    leases.LEASE_SECONDS = lease
    settings = supervisor.ServeSettings(data, port=0)
    command = (sys.executable, "-m", "tests.server.scripted", "worker")
    supervisor.serve(settings, lambda url: click.echo(json.dumps({"url": url})), worker=command)


if __name__ == "__main__":
    scripted()
