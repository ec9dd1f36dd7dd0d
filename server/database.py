"""The jobs database: SQLite in WAL mode, one schema version, write transactions that never upgrade."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DatabaseError

from server.errors import DatabaseMismatch

VERSION = 1
BUSY_MILLISECONDS = 10_000

metadata = sa.MetaData()

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("status", sa.String, nullable=False, index=True),
    sa.Column("phase", sa.String),
    sa.Column("progress", sa.JSON(none_as_null=True)),
    sa.Column("outcome", sa.String),
    sa.Column("spec", sa.JSON, nullable=False),
    sa.Column("spec_sha256", sa.String, nullable=False),
    sa.Column("report", sa.JSON(none_as_null=True)),
    sa.Column("error", sa.JSON(none_as_null=True)),
    sa.Column("created_at", sa.String, nullable=False),
    sa.Column("started_at", sa.String),
    sa.Column("finished_at", sa.String),
    # The lease. Owner and attempt together are the fence: who does not match both may not write.
    sa.Column("lease_owner", sa.String),
    sa.Column("lease_until", sa.Float),
    sa.Column("attempt", sa.Integer, nullable=False),
    # Workers lost since the job last got further, the seconds they spent, since when the present one tries,
    # and how far it was: {phase and split: prompts done}.
    sa.Column("losses", sa.Integer, nullable=False),
    sa.Column("stalled", sa.Float, nullable=False),
    sa.Column("stalled_since", sa.Float),
    sa.Column("reached", sa.JSON, nullable=False),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("job_id", sa.String, sa.ForeignKey("jobs.id"), nullable=False),
    sa.Column("time", sa.String, nullable=False),
    sa.Column("type", sa.String, nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
    sa.Index("events_by_job", "job_id", "seq"),
    sqlite_autoincrement=True,
)

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("started_at", sa.String, nullable=False),
    sa.Column("heartbeat", sa.Float, nullable=False),
)


class Database:
    """Connections to one jobs database.

    Reads and writes are separate on purpose. A transaction that reads and then writes gets SQLITE_BUSY at
    once, whatever the timeout, when another process wrote in between; ``BEGIN IMMEDIATE`` waits instead.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(corp_write=True)

    @classmethod
    def open(cls, path: Path) -> Database:
        """Open the database, creating it when it is not there.

        Raises:
            DatabaseMismatch: written by another version, or not a database.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        engine = sa.create_engine(f"sqlite:///{path}", connect_args={"check_same_thread": False})
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", _begin)
        database = cls(engine)
        try:
            with database.write() as connection:
                _migrate(connection, path)
        except DatabaseError as error:
            raise DatabaseMismatch(
                f"{path} cannot be opened: {error.orig}", hint="move it away to start with an empty one"
            ) from None
        return database

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        with self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        self._engine.dispose()


def _configure(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver's own BEGIN is off; _begin issues ours
    connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin(connection: sa.Connection) -> None:
    write = connection.get_execution_options().get("corp_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _migrate(connection: sa.Connection, path: Path) -> None:
    found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    empty = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one() == 0
    if found == 0 and empty:
        metadata.create_all(connection)
        connection.exec_driver_sql(f"PRAGMA user_version={VERSION}")
    elif found != VERSION:
        raise DatabaseMismatch(
            f"{path} has schema version {found}, this release reads version {VERSION}",
            hint="use the release that wrote it, or another --data directory",
        )
