"""The file of a score store: made, checked, and SQLite's errors turned into ours."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from population.errors import DiskFull, StoreMismatch

# "CoRP" in ASCII: tells a score store from any other SQLite file.
APPLICATION_ID = 0x436F5250
SCHEMA_VERSION = 3
BUSY_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE candidate (key TEXT PRIMARY KEY, direction TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE block (
    candidate TEXT NOT NULL, split TEXT NOT NULL, number INTEGER NOT NULL, size INTEGER NOT NULL,
    score BLOB NOT NULL, valid BLOB NOT NULL, success BLOB NOT NULL, tokens BLOB NOT NULL,
    texts BLOB NOT NULL, faults BLOB NOT NULL,
    seconds REAL NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (candidate, split, number)
);
CREATE TABLE displacement (
    candidate TEXT NOT NULL, prompts INTEGER NOT NULL, kl REAL NOT NULL, hidden REAL NOT NULL,
    PRIMARY KEY (candidate, prompts)
) WITHOUT ROWID;
"""


@contextmanager
def immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """A write transaction that takes its lock at once.

    A deferred one that reads first fails with SQLITE_BUSY whatever the timeout.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has rolled back by itself after some errors, a full disk among them.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_FULL or (code in _IO and _no_room(path.parent)):
            raise DiskFull(
                f"{path}: no room on the disk for another block of scores",
                hint="free some space and resume; every score kept before is safe",
            ) from None
        raise StoreMismatch(
            f"{path} {_PROBLEMS.get(code, f'cannot be used: {error}')}", hint=RESTORE
        ) from None


def _no_room(folder: Path) -> bool:
    """Whether an input/output error is better explained by a full disk: the log's index grows by 32 KiB."""
    try:
        return shutil.disk_usage(folder).free < 1 << 16
    except OSError:
        return False


_IO = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
RESTORE = "restore it from a copy, or move it away and start the run again"
_PROBLEMS = {
    sqlite3.SQLITE_NOTADB: "is not a score store",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_BUSY: f"is held by another process for more than {BUSY_SECONDS:.0f} seconds",
    sqlite3.SQLITE_READONLY: "is not writable",
}


def open_file(path: Path, identity: str) -> sqlite3.Connection:
    """A connection to the store at `path`, made there if there is none, after every check.

    Raises:
        StoreMismatch, DiskFull: as `ScoreStore.open`.
    """
    with named(path):
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection, path, identity)
        except BaseException:
            connection.close()
            raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, identity: str) -> None:
    if _is_new(connection):
        connection.execute("PRAGMA journal_mode = WAL")
        with immediate(connection):
            if _is_new(connection):  # another process may have been first
                _create(connection, identity)
    _check(connection, path)
    # Only now: the log mode is written into the file, and a file that is not ours stays as it is.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    _compare(connection, path, identity)


def _is_new(connection: sqlite3.Connection) -> bool:
    tables = connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    return not tables and _pragma(connection, "user_version") == 0


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise StoreMismatch(f"{path} is an SQLite file but not a score store", hint="name another path")
    version = _pragma(connection, "user_version")
    if version != SCHEMA_VERSION:
        raise StoreMismatch(
            f"{path} has layout {version}, this version of CoRP reads {SCHEMA_VERSION}",
            hint="finish the run with the version that started it",
        )
    if (verdict := _pragma(connection, "quick_check")) != "ok":
        raise StoreMismatch(f"{path} is damaged: {verdict}", hint=RESTORE)


def _create(connection: sqlite3.Connection, identity: str) -> None:
    for statement in _SCHEMA.strip().split(";\n"):
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _compare(connection: sqlite3.Connection, path: Path, identity: str) -> None:
    (stored,) = connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
    if stored != identity:
        changes = differences(json.loads(stored), json.loads(identity))
        raise StoreMismatch(
            f"{path} holds the scores of another search: {changes}",
            hint="change these back to resume it, or start the run in a new directory",
        )


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def canonical(value: object) -> str:
    """JSON with sorted keys: equal values, equal text."""
    return json.dumps(value, sort_keys=True, allow_nan=False, default=dict)


def differences(stored: object, now: object) -> str:
    """Every leaf in which two JSON values differ, in words."""
    left, right = _flat(stored), _flat(now)
    changed = sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))
    return "; ".join(
        f"{name} was {left.get(name, 'absent')}, is {right.get(name, 'absent')}" for name in changed
    )


def _flat(value: object, name: str = "") -> dict[str, str]:
    """Leaves of nested JSON by dotted name."""
    if isinstance(value, dict) and value:
        parts = [_flat(part, f"{name}.{key}" if name else key) for key, part in value.items()]
        return {leaf: text for part in parts for leaf, text in part.items()}
    return {name or "value": json.dumps(value)}
