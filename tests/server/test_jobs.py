from __future__ import annotations

import re

import pytest

from server import events, jobs, leases
from server.database import Database
from server.errors import JobUnknown, TransitionRefused
from tests.server.conftest import SPEC, Time


def test_a_created_job_is_queued_and_echoes_its_spec(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)
    assert re.fullmatch(r"job_[0-9a-hjkmnp-tv-z]{26}", job["id"])
    assert (job["status"], job["outcome"], job["spec"]) == ("queued", None, SPEC)
    assert job["created_at"] == "2023-11-14T22:30:00.000Z"
    rows, more = events.after(database, job["id"], 0, 10)
    assert [row["type"] for row in rows] == ["job.created"]
    assert not more


def test_ids_sort_by_creation_and_pages_cover_every_job_once(database: Database, time: Time) -> None:
    made = []
    for _ in range(7):
        time.pass_(0.01)
        made.append(jobs.create(database, time.clock, SPEC)["id"])
    assert made == sorted(made)
    seen: list[str] = []
    after, more = None, True
    while more:
        rows, more = jobs.page(database, limit=3, after=after, status=None)
        seen += [row["id"] for row in rows]
        after = seen[-1]
    assert seen == made[::-1]


def test_a_page_can_be_of_one_status(database: Database, time: Time) -> None:
    first = jobs.create(database, time.clock, SPEC)["id"]
    jobs.cancel(database, time.clock, first)
    time.pass_(1)
    second = jobs.create(database, time.clock, SPEC)["id"]
    for status, wanted in (("cancelled", first), ("queued", second)):
        rows, _ = jobs.page(database, limit=10, after=None, status=status)
        assert [row["id"] for row in rows] == [wanted]


def test_unknown_ids_are_named(database: Database, time: Time) -> None:
    for look in (lambda: jobs.get(database, "job_x"), lambda: jobs.cancel(database, time.clock, "job_x")):
        with pytest.raises(JobUnknown):
            look()


def test_cancelling_a_queued_job_ends_it_and_again_changes_nothing(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    first = jobs.cancel(database, time.clock, job)
    time.pass_(5)
    assert jobs.cancel(database, time.clock, job) == first
    assert first["status"] == "cancelled"
    assert first["finished_at"] is not None


def paused(database: Database, time: Time) -> str:
    jobs.create(database, time.clock, SPEC)
    lease = leases.claim(database, time.clock, "w")
    assert lease is not None
    leases.pause(database, time.clock, lease, {"code": "paused", "detail": "timeouts", "hint": "mend it"})
    return lease.job


def test_a_paused_job_waits_for_someone(database: Database, time: Time) -> None:
    job = paused(database, time)
    row = jobs.get(database, job)
    assert (row["status"], row["error"]["detail"], row["lease_owner"]) == ("paused", "timeouts", None)
    assert row["finished_at"] is None
    assert leases.claim(database, time.clock, "w") is None
    assert leases.reap(database, time.clock, lambda _worker: False) == []
    assert jobs.get(database, job) == row


def test_resuming_queues_a_paused_job_once_and_forgets_its_error(database: Database, time: Time) -> None:
    job = paused(database, time)
    first = jobs.resume(database, time.clock, job)
    assert (first["status"], first["error"]) == ("queued", None)
    assert jobs.resume(database, time.clock, job) == first
    lease = leases.claim(database, time.clock, "w")
    assert lease is not None
    assert lease.attempt == 2
    assert jobs.resume(database, time.clock, job)["status"] == "running"
    kinds = [event["type"] for event in events.after(database, job, 0, 100)[0]]
    assert kinds == ["job.created", "job.started", "job.paused", "job.queued", "job.resumed"]


def test_a_paused_job_can_be_cancelled_and_then_not_resumed(database: Database, time: Time) -> None:
    job = paused(database, time)
    assert jobs.cancel(database, time.clock, job)["status"] == "cancelled"
    with pytest.raises(TransitionRefused) as caught:
        jobs.resume(database, time.clock, job)
    assert caught.value.status == "cancelled"
    with pytest.raises(JobUnknown):
        jobs.resume(database, time.clock, "job_unknown")


def test_a_job_that_pauses_while_it_is_cancelled_is_cancelled(database: Database, time: Time) -> None:
    jobs.create(database, time.clock, SPEC)
    lease = leases.claim(database, time.clock, "w")
    assert lease is not None
    jobs.cancel(database, time.clock, lease.job)
    leases.pause(database, time.clock, lease, {"code": "paused", "detail": "", "hint": ""})
    row = jobs.get(database, lease.job)
    assert (row["status"], row["error"]) == ("cancelled", None)
    assert row["finished_at"] is not None


def test_a_stream_ends_at_a_pause_and_follows_again_after_it(database: Database, time: Time) -> None:
    job = paused(database, time)
    rows, end = events.tail(database, job, 0)
    assert (rows[-1]["type"], end) == ("job.paused", {"status": "paused", "outcome": None})
    jobs.resume(database, time.clock, job)
    later, end = events.tail(database, job, rows[-1]["seq"])
    assert ([event["type"] for event in later], end) == (["job.queued"], None)


def test_cancelling_a_running_job_asks_its_worker(database: Database, time: Time) -> None:
    jobs.create(database, time.clock, SPEC)
    lease = leases.claim(database, time.clock, "w")
    assert lease is not None
    assert not leases.cancel_requested(database, lease)
    assert jobs.cancel(database, time.clock, lease.job)["status"] == "cancelling"
    assert leases.cancel_requested(database, lease)


def test_an_ended_job_cannot_be_cancelled(database: Database, time: Time) -> None:
    jobs.create(database, time.clock, SPEC)
    lease = leases.claim(database, time.clock, "w")
    assert lease is not None
    report = {"outcome": "no_improvement", "reason": "none"}
    leases.finish(database, time.clock, lease, "succeeded", report=report)
    with pytest.raises(TransitionRefused) as caught:
        jobs.cancel(database, time.clock, lease.job)
    assert (caught.value.status, caught.value.allowed) == ("succeeded", ())
