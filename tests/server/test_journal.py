from __future__ import annotations

import threading

from server import events, jobs, leases
from server.database import Database
from server.journal import Journal
from tests.server.conftest import SPEC, Time


def journal(database: Database, time: Time, stopping: threading.Event | None = None) -> tuple[Journal, str]:
    job = jobs.create(database, time.clock, SPEC)["id"]
    lease = leases.claim(database, time.clock, "w")
    assert lease is not None
    return Journal(database, time.clock, lease, stopping or threading.Event()), job


def done(database: Database, job: str) -> list[object]:
    rows, _ = events.after(database, job, 0, 1000)
    return [row["data"]["done"] for row in rows if row["type"] == "phase.progress"]


def test_progress_is_written_at_most_twice_a_second(database: Database, time: Time) -> None:
    emitter, job = journal(database, time)
    for number in range(100):  # a hundred in ten seconds
        emitter.emit("phase.progress", {"phase": "search", "done": number, "total": 100})
        time.pass_(0.1)
    assert 18 <= len(done(database, job)) <= 21


def test_the_last_progress_of_a_phase_is_never_lost(database: Database, time: Time) -> None:
    emitter, job = journal(database, time)
    for number in (1, 2, 3):
        emitter.emit("phase.progress", {"phase": "search", "done": number, "total": 3})
    emitter.emit("phase.finished", {"phase": "search", "seconds": 1})
    rows, _ = events.after(database, job, 2, 10)
    assert [(row["type"], row["data"].get("done")) for row in rows] == [
        ("phase.progress", 1),
        ("phase.progress", 3),
        ("phase.finished", None),
    ]


def test_the_job_shows_its_phase_and_progress(database: Database, time: Time) -> None:
    emitter, job = journal(database, time)
    emitter.emit("phase.started", {"phase": "search"})
    emitter.emit("phase.progress", {"phase": "search", "done": 1, "total": 3})
    row = jobs.get(database, job)
    assert (row["phase"], row["progress"]["done"]) == ("search", 1)
    emitter.emit("phase.started", {"phase": "gate"})
    row = jobs.get(database, job)
    assert (row["phase"], row["progress"]) == ("gate", None)


def test_it_stops_for_a_cancel_and_for_a_shutdown(database: Database, time: Time) -> None:
    stopping = threading.Event()
    emitter, job = journal(database, time, stopping)
    assert not emitter.cancelled()
    stopping.set()
    assert emitter.cancelled()
    stopping.clear()
    jobs.cancel(database, time.clock, job)
    time.pass_(1)
    assert emitter.cancelled()


def test_asking_often_does_not_read_the_database_each_time(database: Database, time: Time) -> None:
    emitter, job = journal(database, time)
    assert not emitter.cancelled()
    jobs.cancel(database, time.clock, job)
    assert not emitter.cancelled()  # within a quarter of a second of the last look
    time.pass_(0.3)
    assert emitter.cancelled()
