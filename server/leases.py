"""Who may work on a job: claim, extend, release. Every write of a worker is fenced by (owner, attempt).

A worker is alive as long as it holds its lock file, which the kernel drops with the process; a job whose
owner is dead goes back to the queue at once, one whose owner hangs goes back when its lease runs out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from server import events
from server.clock import Clock
from server.database import Database, jobs, workers
from server.errors import LeaseLost

LEASE_SECONDS = 60.0

# When a job that keeps losing its worker is given up: three losses are enough once they have taken a minute
# without the job getting further. A worker needs seconds to load torch and the model, so kills in quick
# succession, an impatient operator's for example, prove nothing; a dozen in a row do.
LOSSES = 3
STALLED_SECONDS = 60.0
MAX_LOSSES = 12

STALL = (jobs.c.status, jobs.c.phase, jobs.c.losses, jobs.c.stalled, jobs.c.stalled_since)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a job: valid while the row still names this owner and attempt."""

    job: str
    owner: str
    attempt: int
    spec: Mapping[str, Any]

    def fence(self) -> sa.ColumnElement[bool]:
        return sa.and_(
            jobs.c.id == self.job, jobs.c.lease_owner == self.owner, jobs.c.attempt == self.attempt
        )


def claim(database: Database, clock: Clock, owner: str) -> Lease | None:
    """Take the oldest queued job in one statement, so that no two workers get the same one."""
    oldest = (
        sa.select(jobs.c.id).where(jobs.c.status == "queued").order_by(jobs.c.id).limit(1).scalar_subquery()
    )
    statement = (
        sa.update(jobs)
        .where(jobs.c.id == oldest)
        .values(
            status="running",
            lease_owner=owner,
            lease_until=clock.monotonic() + LEASE_SECONDS,
            stalled_since=clock.monotonic(),
            attempt=jobs.c.attempt + 1,
            started_at=sa.func.coalesce(jobs.c.started_at, clock.stamp()),
        )
        .returning(jobs.c.id, jobs.c.attempt, jobs.c.spec)
    )
    with database.write() as connection:
        row = connection.execute(statement).first()
        if row is None:
            return None
        kind = "job.started" if row.attempt == 1 else "job.resumed"
        events.append(connection, clock, row.id, kind, {"attempt": row.attempt})
        return Lease(job=row.id, owner=owner, attempt=row.attempt, spec=row.spec)


def beat(database: Database, clock: Clock, owner: str, pid: int, lease: Lease | None) -> None:
    """Say that the worker lives, and keep its lease.

    Raises:
        LeaseLost: the job belongs to someone else by now.
    """
    now = clock.monotonic()
    with database.write() as connection:
        known = connection.execute(
            sa.update(workers).where(workers.c.id == owner).values(heartbeat=now)
        ).rowcount
        if not known:
            row = {"id": owner, "pid": pid, "started_at": clock.stamp(), "heartbeat": now}
            connection.execute(sa.insert(workers).values(row))
        if lease is not None:
            write(connection, lease, lease_until=now + LEASE_SECONDS)


def write(connection: sa.Connection, lease: Lease, **values: Any) -> None:
    """Change the leased job's row inside the caller's write transaction.

    Raises:
        LeaseLost: the fence does not match; the transaction must not commit anything else.
    """
    done = connection.execute(sa.update(jobs).where(lease.fence()).values(**values)).rowcount
    if done != 1:
        raise LeaseLost(f"{lease.job} is no longer leased to {lease.owner} (attempt {lease.attempt})")


def cancel_requested(database: Database, lease: Lease) -> bool:
    """Whether the job was asked to stop.

    Raises:
        LeaseLost: the job belongs to someone else by now.
    """
    with database.read() as connection:
        status = connection.execute(sa.select(jobs.c.status).where(lease.fence())).scalar()
    if status is None:
        raise LeaseLost(f"{lease.job} is no longer leased to {lease.owner} (attempt {lease.attempt})")
    return bool(status == "cancelling")


def finish(
    database: Database,
    clock: Clock,
    lease: Lease,
    status: str,
    *,
    report: Mapping[str, Any] | None = None,
    error: Mapping[str, Any] | None = None,
) -> None:
    """End the job: its last row and its last event in one transaction."""
    outcome = report["outcome"] if report else None
    with database.write() as connection:
        write(
            connection,
            lease,
            status=status,
            outcome=outcome,
            report=dict(report) if report else None,
            error=dict(error) if error else None,
            finished_at=clock.stamp(),
            lease_owner=None,
            lease_until=None,
        )
        data = error if error else {"outcome": outcome, "reason": report["reason"]} if report else {}
        events.append(connection, clock, lease.job, f"job.{status}", data)


def pause(database: Database, clock: Clock, lease: Lease, error: Mapping[str, Any]) -> None:
    """Set the job aside until someone resumes it; one that was being cancelled ends instead."""
    with database.write() as connection:
        status = connection.execute(sa.select(jobs.c.status).where(lease.fence())).scalar()
        values: dict[str, Any] = {"status": "paused", "error": dict(error)}
        if status == "cancelling":
            values = {"status": "cancelled", "finished_at": clock.stamp()}
        write(connection, lease, lease_owner=None, lease_until=None, **values)
        data = error if values["status"] == "paused" else {}
        events.append(connection, clock, lease.job, f"job.{values['status']}", data)


def release(database: Database, clock: Clock, lease: Lease) -> None:
    """Give the job back unfinished, at a shutdown: it waits for the next worker and nothing is counted."""
    with database.write() as connection:
        write(connection, lease, lease_until=clock.monotonic())
        _return(connection, clock, lease.job, "shutdown", counts=False)


def reap(database: Database, clock: Clock, alive: Callable[[str], bool], *, counts: bool = True) -> list[str]:
    """Take the jobs of dead or hanging workers back, and return their ids.

    Args:
        alive: whether the worker of this id lives.
        counts: whether a dead worker counts against the job; not when it was stopped on purpose.
    """
    with database.write() as connection:
        for owner in connection.execute(sa.select(workers.c.id)).scalars().all():
            if not alive(owner):
                connection.execute(sa.delete(workers).where(workers.c.id == owner))
        query = sa.select(jobs.c.id, jobs.c.lease_owner, jobs.c.lease_until).where(
            jobs.c.lease_owner.is_not(None)
        )
        lost = [
            row.id
            for row in connection.execute(query)
            if row.lease_until < clock.monotonic() or not alive(row.lease_owner)
        ]
        for job in lost:
            _return(connection, clock, job, "worker_lost", counts=counts)
    return lost


def _return(connection: sa.Connection, clock: Clock, job: str, reason: str, *, counts: bool) -> None:
    """Back to the queue; or to its end, when it was being cancelled or has lost too many workers."""
    row = connection.execute(sa.select(*STALL).where(jobs.c.id == job)).one()
    losses = row.losses + counts
    # Clocks of different boots do not compare; a negative difference counts as nothing.
    stalled = row.stalled + counts * max(0.0, clock.monotonic() - row.stalled_since)
    values: dict[str, Any] = {"lease_owner": None, "lease_until": None, "status": "queued"}
    values |= {"losses": losses, "stalled": stalled}
    kind, data = "job.interrupted", {"reason": reason, "losses": losses}
    if row.status == "cancelling":
        values |= {"status": "cancelled", "finished_at": clock.stamp()}
        kind, data = "job.cancelled", {}
    elif losses >= MAX_LOSSES or (losses >= LOSSES and stalled >= STALLED_SECONDS):
        data = _worker_lost(row.phase, losses)
        values |= {"status": "failed", "finished_at": clock.stamp(), "error": data}
        kind = "job.failed"
    connection.execute(sa.update(jobs).where(jobs.c.id == job).values(values))
    events.append(connection, clock, job, kind, data)


def got_further(clock: Clock) -> dict[str, Any]:
    """What progress means for the job's row: the workers lost until then are forgiven."""
    return {"losses": 0, "stalled": 0.0, "stalled_since": clock.monotonic()}


def _worker_lost(phase: str | None, losses: int) -> dict[str, Any]:
    return {
        "code": "worker_lost",
        "phase": phase,
        "detail": f"the worker died {losses} times without getting further",
        "hint": "usually out of memory: take a smaller engine.batch_size; DATA/worker.log has its last words",
    }


def silence(database: Database, clock: Clock, pid: int) -> float | None:
    """Seconds since the worker of this process was last heard of; None before its first heartbeat."""
    query = sa.select(workers.c.heartbeat).where(workers.c.pid == pid)
    with database.read() as connection:
        last = connection.execute(query).scalar()
    return None if last is None else clock.monotonic() - float(last)


def heard_of(database: Database, clock: Clock, within: float) -> list[str]:
    """Ids of the workers whose last heartbeat is at most ``within`` seconds old."""
    query = sa.select(workers.c.id).where(workers.c.heartbeat >= clock.monotonic() - within)
    with database.read() as connection:
        return list(connection.execute(query).scalars())
