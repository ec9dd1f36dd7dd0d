"""What a running job says, written to the database: fenced, in order, progress at most twice a second."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from server import events, leases
from server.clock import Clock
from server.database import Database, jobs
from server.leases import Lease

PROGRESS_SECONDS = 0.5
FINISHED = 1e300  # further than any count of units; JSON has no infinity
POLL_SECONDS = 0.25


class Journal:
    """The ``emit`` and ``cancelled`` of a job in a worker; safe to call from several threads.

    Args:
        stopping: set when the worker is to shut down; the job then stops as if cancelled and is given back.
    """

    def __init__(self, database: Database, clock: Clock, lease: Lease, stopping: threading.Event) -> None:
        self._database = database
        self._clock = clock
        self._lease = lease
        self._stopping = stopping
        self._lock = threading.RLock()
        self._pending: dict[str, object] | None = None
        self._written = self._polled = float("-inf")
        self._cancel = False

    def emit(self, kind: str, data: Mapping[str, object]) -> None:
        """Record an event.

        Raises:
            LeaseLost: the job belongs to another worker by now; this one must stop.
        """
        with self._lock:
            if kind == "phase.progress":
                self._pending = dict(data)
                if self._clock.monotonic() - self._written >= PROGRESS_SECONDS:
                    self.flush()
            else:
                self.flush()
                self._write(kind, data)

    def flush(self) -> None:
        """Write the progress that was held back."""
        with self._lock:
            if self._pending is not None:
                pending, self._pending = self._pending, None
                self._written = self._clock.monotonic()
                self._write("phase.progress", pending)

    def cancelled(self) -> bool:
        """Whether to stop: the worker shuts down, or the job was asked to.

        Raises:
            LeaseLost: the job belongs to another worker by now.
        """
        with self._lock:
            now = self._clock.monotonic()
            if not self._cancel and now - self._polled >= POLL_SECONDS:
                self._polled = now
                self._cancel = leases.cancel_requested(self._database, self._lease)
            return self._cancel or self._stopping.is_set()

    def _write(self, kind: str, data: Mapping[str, object]) -> None:
        with self._database.write() as connection:
            leases.write(connection, self._lease, **self._row(connection, kind, data))
            events.append(connection, self._clock, self._lease.job, kind, data)

    def _row(self, connection: sa.Connection, kind: str, data: Mapping[str, object]) -> dict[str, Any]:
        """How the event changes the job's row; getting further than ever before forgives lost workers."""
        values: dict[str, Any] = {"attempt": self._lease.attempt}
        phase = data.get("phase")
        if not isinstance(phase, str) or not kind.startswith("phase."):
            return values
        values |= {"phase": phase}
        if kind == "phase.started":
            values |= {"progress": None}
        if kind == "phase.progress":
            values |= {"progress": dict(data)}
        query = sa.select(jobs.c.reached).where(self._lease.fence())
        reached = dict(connection.execute(query).scalar_one_or_none() or {})
        mark, step = f"{phase} {data.get('split', '')}".strip(), _step(kind, data)
        if step > reached.get(mark, -1):
            values |= {"reached": {**reached, mark: step}, **leases.got_further(self._clock)}
        return values


def _step(kind: str, data: Mapping[str, object]) -> float:
    """How far into its phase an event is: 0 at the start, the units done, FINISHED at the end."""
    if kind == "phase.finished":
        return FINISHED
    done = data.get("done", 0)
    return float(done) if isinstance(done, int | float) else 0.0
