"""The process that runs jobs: ``python -m server.worker --data DIR``.

It claims the oldest queued job, runs it with `corp.run.execute` in ``DATA/jobs/<id>/run`` and claims the
next. It may be killed at any moment: what was scored is in the run directory, and the next worker goes on.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from sqlalchemy.exc import OperationalError

from corp.errors import Cancelled, Paused
from server import leases
from server.clock import Clock
from server.database import Database
from server.errors import LeaseLost
from server.identifiers import fresh
from server.journal import Journal
from server.layout import Layout
from server.leases import Lease
from server.locks import FileLock
from verify.errors import CorpError

HEARTBEAT_SECONDS = 5.0
IDLE_SECONDS = 0.25

log = logging.getLogger("corp.worker")

Execute = Callable[..., dict[str, Any]]


class Worker:
    """One worker: at most one job at a time.

    Args:
        execute: runs a job; `corp.run.execute` outside tests.
    """

    def __init__(self, layout: Layout, database: Database, clock: Clock, execute: Execute) -> None:
        self.id = fresh("wrk", clock.wall())
        self.stopping = threading.Event()
        self._layout = layout
        self._database = database
        self._clock = clock
        self._execute = execute
        self._lease: Lease | None = None
        self._ended = threading.Event()

    def run(self) -> None:
        """Work until `stopping` is set."""
        with FileLock(self._layout.worker_lock(self.id)) as lock:
            lock.acquire()
            self._beat()
            threading.Thread(target=self._heart, name="heartbeat", daemon=True).start()
            log.info("%s takes jobs", self.id)
            while not self.stopping.is_set():
                self._lease = leases.claim(self._database, self._clock, self.id)
                if self._lease is None:
                    self.stopping.wait(IDLE_SECONDS)
                else:
                    self._work(self._lease)
                    self._lease = None
            self._ended.set()
        self._layout.worker_lock(self.id).unlink(missing_ok=True)

    def _work(self, lease: Lease) -> None:
        log.info("%s attempt %d", lease.job, lease.attempt)
        journal = Journal(self._database, self._clock, lease, self.stopping)
        try:
            self._end(lease, journal, lambda: self._report(lease, journal))
        except LeaseLost as error:
            log.warning("%s", error)

    def _report(self, lease: Lease, journal: Journal) -> dict[str, Any]:
        from corp.spec import parse

        spec = parse(dict(lease.spec), lease.job)
        target = self._layout.run(lease.job)
        target.parent.mkdir(parents=True, exist_ok=True)
        return self._execute(
            spec, target, folder=self._layout.data, emit=journal.emit, cancelled=journal.cancelled
        )

    def _end(self, lease: Lease, journal: Journal, run: Callable[[], dict[str, Any]]) -> None:
        database, clock = self._database, self._clock
        try:
            report = run()
            journal.flush()
            leases.finish(database, clock, lease, "succeeded", report=report)
        except (LeaseLost, OperationalError):
            raise  # not the job's fault: it ends the worker, and the next one tries again
        except Cancelled:
            if leases.cancel_requested(database, lease):
                leases.finish(database, clock, lease, "cancelled")
            else:
                leases.release(database, clock, lease)
        except Paused as error:
            journal.flush()
            leases.pause(database, clock, lease, _problem(error))
        except CorpError as error:
            journal.flush()
            leases.finish(database, clock, lease, "failed", error=_problem(error))
        except Exception as error:
            leases.finish(database, clock, lease, "failed", error=self._internal(lease, error))

    def _internal(self, lease: Lease, error: Exception) -> Mapping[str, Any]:
        """A fault of ours: the traceback goes to the job's log, its kind and place to the client."""
        path = self._layout.job_log(lease.job)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(
                f"{self._clock.stamp()} attempt {lease.attempt}\n{''.join(traceback.format_exception(error))}"
            )
        log.error("%s failed, see %s", lease.job, path)
        return {
            "code": "internal",
            "detail": f"{type(error).__name__} while the job ran; the traceback is in {path}",
            "hint": "this is a fault in CoRP or its libraries, please report it with that file",
            "log": str(path),
        }

    def _heart(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            try:
                self._beat()
            except LeaseLost as error:
                log.warning("%s", error)  # the journal finds the same at its next event and stops the job
            except Exception:
                log.exception("heartbeat failed")

    def _beat(self) -> None:
        leases.beat(self._database, self._clock, self.id, os.getpid(), self._lease)


def _problem(error: CorpError) -> dict[str, str]:
    return {"code": error.code, "detail": error.detail, "hint": error.hint}


def watch_supervisor(handle: int) -> None:
    """Kill this worker and its children as soon as the other end of the pipe ``handle`` is closed.

    The supervisor holds that end open as long as it lives, so that not even its kill -9 leaves an orphan.
    """
    while os.read(handle, 1):
        pass
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


@click.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="data directory of the server",
)
@click.option(
    "--supervised", is_flag=True, help="end when standard input closes; `corp serve` starts workers so"
)
def main(data: Path, supervised: bool) -> None:
    """Run jobs of the data directory until SIGTERM, which stops the running job at the next block of prompts.

    Example: python -m server.worker --data ./data
    """
    from corp.run import execute

    work(data, supervised, execute)


def work(data: Path, supervised: bool, execute: Execute) -> None:
    """Be a worker process until SIGTERM or SIGINT."""
    faulthandler.enable()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    if supervised:
        threading.Thread(target=watch_supervisor, args=(0,), name="supervisor", daemon=True).start()
    layout = Layout(data.resolve())
    database = Database.open(layout.database)
    worker = Worker(layout, database, Clock(), execute)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stopping.set())
    worker.run()
    database.close()


if __name__ == "__main__":
    main()
