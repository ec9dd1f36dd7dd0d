from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from server import jobs, leases
from server.database import Database
from server.layout import Layout
from server.worker import Worker
from tests.server.conftest import Time
from tests.server.service import scripted_job

Emit = Callable[[str, Mapping[str, object]], None]


def worker_on(layout: Layout, database: Database, time: Time, job: Callable[[Worker, Emit], Any]) -> Worker:
    """A worker whose every job is ``job`` and the last one it takes."""

    def execute(*_spec_and_target: object, emit: Emit, **_others: object) -> Any:
        try:
            return job(worker, emit)
        finally:
            worker.stopping.set()

    worker = Worker(layout, database, time.clock, execute)
    return worker


def test_a_report_ends_the_job_and_the_worker_leaves_no_lock(
    layout: Layout, database: Database, time: Time
) -> None:
    job = jobs.create(database, time.clock, scripted_job(Path("/model")))["id"]
    report = {"outcome": "improved", "reason": "better"}
    worker = worker_on(layout, database, time, lambda _worker, _emit: report)
    worker.run()
    row = jobs.get(database, job)
    assert (row["status"], row["outcome"], row["report"]) == ("succeeded", "improved", report)
    assert not layout.worker_lock(worker.id).exists()


def test_a_database_that_cannot_be_written_does_not_fail_the_job(
    layout: Layout, database: Database, time: Time
) -> None:
    job = jobs.create(database, time.clock, scripted_job(Path("/model")))["id"]

    def full(_worker: Worker, _emit: Emit) -> None:
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))

    with pytest.raises(OperationalError):
        worker_on(layout, database, time, full).run()
    leases.reap(database, time.clock, lambda _worker: False)
    assert jobs.get(database, job)["status"] == "queued"


def test_a_worker_whose_job_was_taken_away_leaves_it_alone(
    layout: Layout, database: Database, time: Time
) -> None:
    job = jobs.create(database, time.clock, scripted_job(Path("/model")))["id"]

    def robbed(_worker: Worker, emit: Emit) -> None:
        leases.reap(database, time.clock, lambda _worker: False)
        assert leases.claim(database, time.clock, "other") is not None
        emit("log", {"message": "still here"})

    worker_on(layout, database, time, robbed).run()
    row = jobs.get(database, job)
    assert (row["status"], row["lease_owner"], row["attempt"]) == ("running", "other", 2)


def test_a_stored_spec_that_is_no_longer_valid_fails_its_job(
    layout: Layout, database: Database, time: Time
) -> None:
    job = jobs.create(database, time.clock, {"name": "old", "retired": 1})["id"]
    worker = worker_on(layout, database, time, lambda _worker, _emit: None)
    threading.Timer(1.0, worker.stopping.set).start()
    worker.run()
    row = jobs.get(database, job)
    assert (row["status"], row["error"]["code"]) == ("failed", "spec_invalid")
