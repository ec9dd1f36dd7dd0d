from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from server import events
from server.clock import Clock
from server.database import VERSION, Database, workers
from server.errors import DatabaseMismatch


def test_a_new_database_has_wal_foreign_keys_and_the_schema_version(database: Database) -> None:
    with database.read() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "foreign_keys", "busy_timeout", "user_version", "synchronous")
        }
    assert pragmas == {
        "journal_mode": "wal",
        "foreign_keys": 1,
        "busy_timeout": 10_000,
        "user_version": VERSION,
        "synchronous": 2,
    }


def test_reopening_keeps_the_rows(tmp_path: Path) -> None:
    first = Database.open(tmp_path / "jobs.sqlite")
    with first.write() as connection:
        row = {"id": "w", "pid": 1, "started_at": "", "heartbeat": 0.0}
        connection.execute(sa.insert(workers).values(row))
    first.close()
    second = Database.open(tmp_path / "jobs.sqlite")
    with second.read() as connection:
        assert connection.execute(sa.select(workers.c.id)).scalars().all() == ["w"]
    second.close()


def test_another_schema_version_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    Database.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version={VERSION + 1}")
    connection.close()
    with pytest.raises(DatabaseMismatch, match=f"version {VERSION + 1}"):
        Database.open(path)


def test_a_foreign_database_without_a_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(DatabaseMismatch, match="version 0"):
        Database.open(path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    path.write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(DatabaseMismatch, match="cannot be opened"):
        Database.open(path)


def test_an_event_of_no_job_is_refused(database: Database) -> None:
    with pytest.raises(IntegrityError), database.write() as connection:
        events.append(connection, Clock(), "job_nobody", "log")


def test_writers_that_read_first_wait_for_each_other_and_lose_no_update(database: Database) -> None:
    """With deferred transactions the reads would overlap and the second write fail with SQLITE_BUSY."""
    with database.write() as connection:
        row = {"id": "w", "pid": 0, "started_at": "", "heartbeat": 0.0}
        connection.execute(sa.insert(workers).values(row))

    def count() -> None:
        for _ in range(25):
            with database.write() as connection:
                value = connection.execute(sa.select(workers.c.pid)).scalar_one()
                connection.execute(sa.update(workers).values(pid=value + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as connection:
        assert connection.execute(sa.select(workers.c.pid)).scalar_one() == 100
