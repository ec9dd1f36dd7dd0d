"""Keeps one worker process alive, and gives its job back the moment it dies."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from server import leases
from server.clock import Clock
from server.database import Database
from server.layout import Layout
from server.locks import held

LOG_BYTES = 10_000_000
# -P: a folder that happens to hold a server/ must not shadow ours
WORKER = (sys.executable, "-P", "-m", "server.worker", "--supervised")

log = logging.getLogger("corp.serve")


class Keeper:
    """A thread that starts a worker, waits for its end and starts the next.

    Args:
        grace: seconds a job may take to stop at a block of prompts at shutdown.
        command: the worker's, without ``--data``.
    """

    def __init__(
        self, layout: Layout, database: Database, clock: Clock, grace: float, command: Sequence[str]
    ) -> None:
        self._layout = layout
        self._database = database
        self._clock = clock
        self._grace = grace
        self._command = command
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the worker at its next block of prompts; kill it when that outlasts the grace time."""
        self._stopping.set()
        self._thread.join()

    def _keep(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            came_up = self._watch(self._spawn())
            # One that died before its first heartbeat will probably do so again: wait longer each time.
            pause = 0.0 if came_up else min(30.0, 2 * pause + 0.5)

    def _spawn(self) -> subprocess.Popen[bytes]:
        path = self._layout.worker_log
        mode = "wb" if path.exists() and path.stat().st_size > LOG_BYTES else "ab"
        with path.open(mode) as output:
            return subprocess.Popen(
                [*self._command, "--data", str(self._layout.data)],
                stdin=subprocess.PIPE,  # its end of this pipe tells the worker that we live
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _watch(self, worker: subprocess.Popen[bytes]) -> bool:
        """Wait until the worker has ended: by itself, at our shutdown, or killed because it hangs.

        Returns: whether it had come up, that is, was ever heard of.
        """
        asked = False
        while not self._ended(worker, 0.5):
            self._reap()
            if self._hangs(worker.pid):
                log.error(
                    "worker %d has not been heard of for %g s and is killed", worker.pid, leases.LEASE_SECONDS
                )
                _kill(worker)
            if self._stopping.is_set() and not asked:
                asked = True
                worker.send_signal(signal.SIGTERM)
                if not self._ended(worker, self._grace):
                    _kill(worker)
        _kill(worker)  # whatever it started
        came_up = leases.silence(self._database, self._clock, worker.pid) is not None
        lost = self._reap(counts=not asked)
        if not asked:
            log.warning(
                "worker %d ended with %d (%s); %s",
                worker.pid,
                worker.returncode,
                self._layout.worker_log,
                _goes_on(lost),
            )
        return came_up

    def _ended(self, worker: subprocess.Popen[bytes], seconds: float) -> bool:
        try:
            worker.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _hangs(self, pid: int) -> bool:
        age = leases.silence(self._database, self._clock, pid)
        return age is not None and age > leases.LEASE_SECONDS

    def _reap(self, *, counts: bool = True) -> list[str]:
        alive = lambda worker: held(self._layout.worker_lock(worker))  # noqa: E731
        try:
            return leases.reap(self._database, self._clock, alive, counts=counts)
        except Exception:
            log.exception("cannot release the jobs of dead workers; trying again")
            return []


def _goes_on(lost: list[str]) -> str:
    return f"{', '.join(lost)} goes on in a new one" if lost else "a new one is started"


def _kill(worker: subprocess.Popen[bytes]) -> None:
    """Kill the worker's whole process group; it leads one of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
