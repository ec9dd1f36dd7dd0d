"""Jobs as clients see them: create, look up, list, cancel, resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from server import events
from server.clock import Clock
from server.database import Database, jobs
from server.errors import JobUnknown, TransitionRefused
from server.identifiers import fresh
from server.states import actions

LEAN = [column for column in jobs.c if column.name not in ("spec", "report", "reached")]


def create(database: Database, clock: Clock, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Queue a job; ``spec`` is the resolved spec as JSON values."""
    canonical = json.dumps(spec, sort_keys=True, separators=(",", ":")).encode()
    row = {
        "id": fresh("job", clock.wall()),
        "name": spec["name"],
        "status": "queued",
        "spec": dict(spec),
        "spec_sha256": hashlib.sha256(canonical).hexdigest(),
        "created_at": clock.stamp(),
        "attempt": 0,
        "losses": 0,
        "stalled": 0.0,
        "reached": {},
    }
    with database.write() as connection:
        connection.execute(sa.insert(jobs).values(row))
        events.append(connection, clock, row["id"], "job.created", {"name": spec["name"]})
    return get(database, row["id"])


def get(database: Database, job: str) -> dict[str, Any]:
    """A job's row.

    Raises:
        JobUnknown: there is none of that id.
    """
    with database.read() as connection:
        return _row(connection, job)


def require(database: Database, job: str) -> None:
    """Raise JobUnknown unless there is a job of that id; the spec is not read."""
    with database.read() as connection:
        if connection.execute(sa.select(jobs.c.id).where(jobs.c.id == job)).first() is None:
            raise _unknown(job)


def page(
    database: Database, *, limit: int, after: str | None, status: str | None
) -> tuple[list[dict[str, Any]], bool]:
    """Jobs, newest first, without spec and report, and whether there are more.

    Args:
        limit: most rows.
        after: id of the last job of the previous page.
        status: only jobs in this state.
    """
    query = sa.select(*LEAN).order_by(jobs.c.id.desc()).limit(limit + 1)
    if after is not None:
        query = query.where(jobs.c.id < after)
    if status is not None:
        query = query.where(jobs.c.status == status)
    with database.read() as connection:
        rows = [dict(row) for row in connection.execute(query).mappings()]
    return rows[:limit], len(rows) > limit


def cancel(database: Database, clock: Clock, job: str) -> dict[str, Any]:
    """Ask a job to stop: a waiting one is cancelled at once, a running one within a block of prompts.

    Asking again changes nothing.

    Raises:
        JobUnknown: there is none of that id.
        TransitionRefused: it has already ended by itself.
    """
    with database.write() as connection:
        status = _row(connection, job)["status"]
        if status in ("succeeded", "failed"):
            raise TransitionRefused(f"{job} has already {status}", status=status, allowed=actions(status))
        if status in ("queued", "paused"):
            change = {"status": "cancelled", "finished_at": clock.stamp()}
            connection.execute(sa.update(jobs).where(jobs.c.id == job).values(change))
            events.append(connection, clock, job, "job.cancelled")
        if status == "running":
            connection.execute(sa.update(jobs).where(jobs.c.id == job).values(status="cancelling"))
            events.append(connection, clock, job, "job.cancelling")
        return _row(connection, job)


def resume(database: Database, clock: Clock, job: str) -> dict[str, Any]:
    """Queue a paused job again. One that is queued or running already stays as it is.

    Raises:
        JobUnknown: there is none of that id.
        TransitionRefused: it has ended, or is about to.
    """
    with database.write() as connection:
        status = _row(connection, job)["status"]
        if status == "paused":
            change = {"status": "queued", "error": None, "losses": 0, "stalled": 0.0}
            connection.execute(sa.update(jobs).where(jobs.c.id == job).values(change))
            events.append(connection, clock, job, "job.queued")
        elif status not in ("queued", "running"):
            raise TransitionRefused(f"{job} is {status}", status=status, allowed=actions(status))
        return _row(connection, job)


def _row(connection: sa.Connection, job: str) -> dict[str, Any]:
    row = connection.execute(sa.select(jobs).where(jobs.c.id == job)).mappings().first()
    if row is None:
        raise _unknown(job)
    return dict(row)


def _unknown(job: str) -> JobUnknown:
    return JobUnknown("there is no job of that id", hint="GET /v1/jobs or `corp jobs list` shows the ids")
