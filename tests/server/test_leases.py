from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from server import events, jobs, leases
from server.database import Database
from server.database import jobs as table
from server.errors import LeaseLost, TransitionRefused
from server.journal import Journal
from server.leases import Lease
from server.states import TERMINAL, TRANSITIONS
from tests.server.conftest import SPEC, Time

REPORT = {"outcome": "improved", "reason": "better"}


def nobody(_worker: str) -> bool:
    return False


def everybody(_worker: str) -> bool:
    return True


def claimed(database: Database, time: Time, owner: str = "w") -> Lease:
    lease = leases.claim(database, time.clock, owner)
    assert lease is not None
    return lease


def kinds(database: Database, job: str) -> list[str]:
    return [row["type"] for row in events.after(database, job, 0, 1000)[0]]


def test_the_oldest_job_is_claimed_first_and_only_once(database: Database, time: Time) -> None:
    made = []
    for _ in range(3):
        time.pass_(1)
        made.append(jobs.create(database, time.clock, SPEC)["id"])
    assert [claimed(database, time).job for _ in made] == made
    assert leases.claim(database, time.clock, "w") is None


def test_racing_workers_never_get_the_same_job(database: Database, time: Time) -> None:
    for _ in range(20):
        time.pass_(1)
        jobs.create(database, time.clock, SPEC)
    taken: list[str] = []

    def work(owner: str) -> None:
        while (lease := leases.claim(database, time.clock, owner)) is not None:
            taken.append(lease.job)

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 20


def test_the_job_of_a_dead_worker_goes_back_to_the_queue(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    claimed(database, time)
    assert leases.reap(database, time.clock, everybody) == []
    assert leases.reap(database, time.clock, nobody) == [job]
    assert claimed(database, time, "other").attempt == 2
    assert kinds(database, job) == ["job.created", "job.started", "job.interrupted", "job.resumed"]


def test_a_silent_worker_loses_its_job_when_the_lease_runs_out(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    lease = claimed(database, time)
    time.pass_(leases.LEASE_SECONDS - 1)
    leases.beat(database, time.clock, "w", 1, lease)
    time.pass_(leases.LEASE_SECONDS - 1)
    assert leases.reap(database, time.clock, everybody) == []
    time.pass_(2)
    assert leases.reap(database, time.clock, everybody) == [job]
    with pytest.raises(LeaseLost):
        leases.beat(database, time.clock, "w", 1, lease)


@pytest.mark.parametrize("write", ["emit", "cancelled", "finish", "pause", "release"])
def test_a_worker_that_lost_its_lease_can_write_nothing(database: Database, time: Time, write: str) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    old = claimed(database, time, "w")
    leases.reap(database, time.clock, nobody)
    new = claimed(database, time, "w")  # the same owner: only the attempt tells them apart
    before = (jobs.get(database, job), kinds(database, job))
    journal = Journal(database, time.clock, old, threading.Event())
    attempts: dict[str, Callable[[], object]] = {
        "emit": lambda: journal.emit("log", {"message": "late"}),
        "cancelled": journal.cancelled,
        "finish": lambda: leases.finish(database, time.clock, old, "succeeded", report=REPORT),
        "pause": lambda: leases.pause(database, time.clock, old, {}),
        "release": lambda: leases.release(database, time.clock, old),
    }
    with pytest.raises(LeaseLost):
        attempts[write]()
    assert (jobs.get(database, job), kinds(database, job)) == before
    leases.finish(database, time.clock, new, "succeeded", report=REPORT)


def lose(database: Database, time: Time, seconds: float) -> None:
    """A worker that dies so long after its claim."""
    claimed(database, time)
    time.pass_(seconds)
    leases.reap(database, time.clock, nobody)


def test_three_workers_lost_in_a_minute_without_progress_fail_the_job(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    lose(database, time, 25)
    lose(database, time, 25)
    assert jobs.get(database, job)["status"] == "queued"
    lose(database, time, 25)
    row = jobs.get(database, job)
    assert (row["status"], row["error"]["code"]) == ("failed", "worker_lost")
    assert row["finished_at"] is not None


def test_ten_quick_kills_do_not_fail_a_job_but_a_dozen_do(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    for _ in range(10):
        lose(database, time, 2)
    assert jobs.get(database, job)["status"] == "queued"
    for _ in range(2):
        lose(database, time, 2)
    assert jobs.get(database, job)["status"] == "failed"


def test_twenty_lost_workers_with_progress_between_do_not_fail_it(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    for done in range(20):
        journal = Journal(database, time.clock, claimed(database, time), threading.Event())
        time.pass_(25)
        journal.emit("phase.progress", {"phase": "search", "split": "support", "done": done, "total": 20})
        time.pass_(25)
        leases.reap(database, time.clock, nobody)
    assert jobs.get(database, job)["status"] == "queued"


def test_repeating_what_was_reached_before_is_no_progress(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    for _ in range(3):  # the first gets to 5, the others only there
        journal = Journal(database, time.clock, claimed(database, time), threading.Event())
        journal.emit("phase.started", {"phase": "search"})
        journal.emit("phase.progress", {"phase": "search", "split": "support", "done": 5, "total": 10})
        time.pass_(25)
        leases.reap(database, time.clock, nobody)
    assert jobs.get(database, job)["status"] == "failed"


def test_a_shutdown_gives_the_job_back_and_counts_nothing(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    for _ in range(2 * leases.MAX_LOSSES):
        leases.release(database, time.clock, claimed(database, time))
    for _ in range(2 * leases.MAX_LOSSES):
        claimed(database, time)
        time.pass_(25)
        leases.reap(database, time.clock, nobody, counts=False)
    row = jobs.get(database, job)
    assert (row["status"], row["losses"]) == ("queued", 0)


def test_a_worker_lost_while_cancelling_ends_the_job(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    claimed(database, time)
    jobs.cancel(database, time.clock, job)
    leases.reap(database, time.clock, nobody)
    assert jobs.get(database, job)["status"] == "cancelled"


class Lifecycle(RuleBasedStateMachine):
    """Clients, workers, crashes and shutdowns in any order: only the allowed transitions happen."""

    made = Bundle("made")
    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        import tempfile
        from pathlib import Path

        self.folder = tempfile.TemporaryDirectory()
        self.database = Database.open(Path(self.folder.name) / "jobs.sqlite")
        self.time = Time()
        self.workers = 0
        self.dead: set[str] = set()
        self.last: dict[str, str] = {}

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()

    @rule(target=made)
    def create(self) -> str:
        self.time.pass_(1)
        job = str(jobs.create(self.database, self.time.clock, SPEC)["id"])
        self.last[job] = "queued"
        return job

    @rule(target=held)
    def claim(self) -> object:
        self.workers += 1
        lease = leases.claim(self.database, self.time.clock, f"w{self.workers}")
        return multiple() if lease is None else lease

    @rule(job=made)
    def cancel(self, job: str) -> None:
        if self.last[job] in ("succeeded", "failed"):
            with pytest.raises(TransitionRefused):
                jobs.cancel(self.database, self.time.clock, job)
        else:
            jobs.cancel(self.database, self.time.clock, job)

    @rule(lease=held, done=st.integers(0, 5))
    def progress(self, lease: Lease, done: int) -> None:
        journal = Journal(self.database, self.time.clock, lease, threading.Event())
        self.fenced(lease, lambda: journal.emit("phase.progress", {"phase": "search", "done": done}))

    @rule(lease=consumes(held), status=st.sampled_from(["succeeded", "failed"]))
    def finish(self, lease: Lease, status: str) -> None:
        report = REPORT if status == "succeeded" else None
        self.fenced(
            lease, lambda: leases.finish(self.database, self.time.clock, lease, status, report=report)
        )

    @rule(lease=consumes(held))
    def pause(self, lease: Lease) -> None:
        error = {"code": "paused", "detail": "", "hint": ""}
        self.fenced(lease, lambda: leases.pause(self.database, self.time.clock, lease, error))

    @rule(job=made)
    def resume(self, job: str) -> None:
        if self.last[job] in ("paused", "queued", "running"):
            jobs.resume(self.database, self.time.clock, job)
        else:
            with pytest.raises(TransitionRefused):
                jobs.resume(self.database, self.time.clock, job)

    @rule(lease=held)
    def shutdown(self, lease: Lease) -> None:
        self.fenced(lease, lambda: leases.release(self.database, self.time.clock, lease))

    @rule(lease=held)
    def crash(self, lease: Lease) -> None:
        self.dead.add(lease.owner)
        leases.reap(self.database, self.time.clock, lambda worker: worker not in self.dead)

    def fenced(self, lease: Lease, write: Callable[[], object]) -> None:
        """A write succeeds exactly for the owner of the running attempt."""
        with self.database.read() as connection:
            query = sa.select(table.c.lease_owner, table.c.attempt).where(table.c.id == lease.job)
            owner = tuple(connection.execute(query).one())
        if owner == (lease.owner, lease.attempt):
            write()
        else:
            with pytest.raises(LeaseLost):
                write()

    @invariant()
    def only_allowed_transitions(self) -> None:
        for job, before in self.last.items():
            row = jobs.get(self.database, job)
            after = row["status"]
            assert after == before or after in TRANSITIONS[before], (before, after)
            assert (row["lease_owner"] is not None) == (after in ("running", "cancelling"))
            assert (row["finished_at"] is not None) == (after in TERMINAL)
            final = [kind for kind in kinds(self.database, job) if kind.removeprefix("job.") in TERMINAL]
            assert final == ([f"job.{after}"] if after in TERMINAL else [])
            self.last[job] = after


Lifecycle.TestCase.settings = settings(
    max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
test_any_sequence_of_events_keeps_a_job_inside_its_state_machine = Lifecycle.TestCase
