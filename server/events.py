"""The append-only record of what happened to each job; ``seq`` orders all of it and is the SSE id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from server.clock import Clock
from server.database import Database, events, jobs
from server.states import SETTLED


def append(
    connection: sa.Connection, clock: Clock, job: str, kind: str, data: Mapping[str, object] | None = None
) -> None:
    """Add an event inside the caller's write transaction."""
    row = {"job_id": job, "time": clock.stamp(), "type": kind, "data": dict(data or {})}
    connection.execute(sa.insert(events).values(row))


def after(database: Database, job: str, seq: int, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """Up to ``limit`` events of a job with a greater seq, oldest first, and whether there are more."""
    query = (
        sa.select(events.c.seq, events.c.type, events.c.time, events.c.data)
        .where(events.c.job_id == job, events.c.seq > seq)
        .order_by(events.c.seq)
        .limit(limit + 1)
    )
    with database.read() as connection:
        rows = [dict(row) for row in connection.execute(query).mappings()]
    return rows[:limit], len(rows) > limit


def tail(
    database: Database, job: str, seq: int, limit: int = 100
) -> tuple[list[dict[str, Any]], Mapping[str, Any] | None]:
    """The next events and, once none follows unless someone resumes the job, its status and outcome.

    Both are read in one transaction, and such a status is written together with its event: one with fewer
    than ``limit`` events means that nothing is missing.
    """
    listing = (
        sa.select(events.c.seq, events.c.type, events.c.time, events.c.data)
        .where(events.c.job_id == job, events.c.seq > seq)
        .order_by(events.c.seq)
        .limit(limit)
    )
    ending = sa.select(jobs.c.status, jobs.c.outcome).where(jobs.c.id == job, jobs.c.status.in_(SETTLED))
    with database.read() as connection:
        rows = [dict(row) for row in connection.execute(listing).mappings()]
        end = connection.execute(ending).mappings().first()
    return rows, dict(end) if end is not None and len(rows) < limit else None
