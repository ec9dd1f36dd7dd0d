"""Every score ever measured, durable the moment it is known.

One SQLite file holds one row per (candidate, split, block of prompts). Rows are only ever added, and a row
that is there again is left alone, so a search may be killed anywhere and repeat what it is not sure of.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from population.block import Block, Row, pack, unpack
from population.direction import Direction
from population.errors import DiskFull, StoreMismatch

# "CoRP" in ASCII: tells a score store from any other SQLite file.
APPLICATION_ID = 0x436F5250
SCHEMA_VERSION = 1
BUSY_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE candidate (key TEXT PRIMARY KEY, direction TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE block (
    candidate TEXT NOT NULL, split TEXT NOT NULL, number INTEGER NOT NULL, size INTEGER NOT NULL,
    score BLOB NOT NULL, valid BLOB NOT NULL, tokens BLOB NOT NULL, texts BLOB NOT NULL,
    seconds REAL NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (candidate, split, number)
);
"""
_COLUMNS = ", ".join(Row._fields)


class ScoreStore:
    """The score table of one search in one file. Any thread may call any method."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, identity: Mapping[str, object]) -> ScoreStore:
        """Open the store at `path`, or make it.

        Args:
            path: the file; its directory exists and is on a local disk (SQLite's log needs shared memory).
            identity: everything that can change a score, JSON-like: task digest, model digests, engine, noise
                version. Fixed when the store is made.

        Raises:
            StoreMismatch: the file belongs to another search (each differing field is named), is damaged, was
                written by another version, or is something else.
            DiskFull: no room to make it.
        """
        with _named(path):
            connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(connection, path, _canonical(identity))
            except BaseException:
                connection.close()
                raise
        return cls(path, connection)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def __enter__(self) -> ScoreStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_candidate(self, key: str, direction: Direction | None) -> None:
        """Note which direction a key stands for.

        Raises:
            StoreMismatch: the key stands for another direction already.
        """
        text = _canonical(dataclasses.asdict(direction) if direction else None)
        with self._transaction() as connection:
            connection.execute("INSERT INTO candidate VALUES (?, ?) ON CONFLICT DO NOTHING", (key, text))
            (known,) = connection.execute("SELECT direction FROM candidate WHERE key = ?", (key,)).fetchone()
        if known != text:
            raise StoreMismatch(
                f"{self.path}: candidate {key} was scored with another direction"
                f" ({_differences(json.loads(known), json.loads(text))})",
                hint="give the new direction a key of its own",
            )

    def put(self, block: Block) -> None:
        """Keep a block. It is on the disk when this returns; a block that is there already stays as it was.

        Raises:
            DiskFull: no room; every block kept before stays readable.
        """
        marks = ", ".join("?" * len(Row._fields))
        with self._transaction() as connection:
            connection.execute(
                f"INSERT INTO block ({_COLUMNS}) VALUES ({marks}) ON CONFLICT DO NOTHING", pack(block)
            )

    def get(self, candidate: str, split: str, number: int) -> Block | None:
        """One block, or None where it was not scored yet.

        Raises:
            StoreMismatch: the row's bytes are not the ones that were written.
        """
        rows = self._rows("WHERE candidate = ? AND split = ? AND number = ?", (candidate, split, number))
        return self._unpacked(rows[0]) if rows else None

    def has(self, candidate: str, split: str, number: int) -> bool:
        return number in self.blocks(candidate, split)

    def blocks(self, candidate: str, split: str) -> dict[int, int]:
        """Number of each stored block and how many prompts it has, in order."""
        with self._lock, _named(self.path):
            return dict(
                self._connection.execute(
                    "SELECT number, size FROM block WHERE candidate = ? AND split = ? ORDER BY number",
                    (candidate, split),
                )
            )

    def vector(
        self, candidate: str, split: str, n: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Values and validity of a candidate on the `n` prompts of a split, each of shape (n,).

        Raises:
            StoreMismatch: fewer or other prompts are stored.
        """
        blocks = self._split(candidate, split)
        found = sum(map(len, blocks))
        if found != n or [block.number for block in blocks] != list(range(len(blocks))):
            raise StoreMismatch(
                f"{self.path}: candidate {candidate} has scores for {found} of {n} prompts of split {split}",
                hint="resume the search to score the rest",
            )
        values = np.concatenate([np.empty(0), *(block.values for block in blocks)])
        return values, np.concatenate([np.empty(0, bool), *(block.valid for block in blocks)])

    def texts(self, candidate: str, split: str) -> list[str]:
        """The completions of every stored block, in the order of the prompts."""
        return [text for block in self._split(candidate, split) for text in block.texts]

    def digest(self) -> str:
        """SHA-256 over every score: equal for two stores exactly if they hold the same table.

        Values and validity count; times, token counts and texts do not.
        """
        total = hashlib.sha256()
        for row in self._rows("ORDER BY candidate, split, number"):
            block = self._unpacked(row)
            total.update(_canonical([block.candidate, block.split, block.number, len(block)]).encode())
            total.update(row.score + row.valid)
        return total.hexdigest()

    def _split(self, candidate: str, split: str) -> list[Block]:
        rows = self._rows("WHERE candidate = ? AND split = ? ORDER BY number", (candidate, split))
        return [self._unpacked(row) for row in rows]

    def _rows(self, clause: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        with self._lock, _named(self.path):
            found = self._connection.execute(f"SELECT {_COLUMNS} FROM block {clause}", parameters)
            return [Row(*row) for row in found]

    def _unpacked(self, row: Row) -> Block:
        if not row.intact:
            raise StoreMismatch(
                f"{self.path}: block {row.number} of candidate {row.candidate}, split {row.split}, is damaged",
                hint=_RESTORE,
            )
        return unpack(row)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _named(self.path), _immediate(self._connection):
            yield self._connection


@contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
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
def _named(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_FULL or (code in _IO and shutil.disk_usage(path.parent).free < 1 << 16):
            raise DiskFull(
                f"{path}: no room on the disk for another block of scores",
                hint="free some space and resume; every score kept before is safe",
            ) from None
        raise StoreMismatch(
            f"{path} {_PROBLEMS.get(code, f'cannot be used: {error}')}", hint=_RESTORE
        ) from None


_IO = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_RESTORE = "restore it from a copy, or move it away and start the run again"
_PROBLEMS = {
    sqlite3.SQLITE_NOTADB: "is not a score store",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_BUSY: f"is held by another process for more than {BUSY_SECONDS:.0f} seconds",
    sqlite3.SQLITE_READONLY: "is not writable",
}


def _prepare(connection: sqlite3.Connection, path: Path, identity: str) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    with _immediate(connection):
        version = _pragma(connection, "user_version")
        empty = not connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
        if empty and version == 0:
            _create(connection, identity)
            return
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise StoreMismatch(f"{path} is an SQLite file but not a score store", hint="name another path")
    if version != SCHEMA_VERSION:
        raise StoreMismatch(
            f"{path} has layout {version}, this version of CoRP reads {SCHEMA_VERSION}",
            hint="finish the run with the version that started it",
        )
    if (verdict := _pragma(connection, "quick_check")) != "ok":
        raise StoreMismatch(f"{path} is damaged: {verdict}", hint=_RESTORE)
    _compare(connection, path, identity)


def _create(connection: sqlite3.Connection, identity: str) -> None:
    for statement in _SCHEMA.strip().split(";\n"):
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _compare(connection: sqlite3.Connection, path: Path, identity: str) -> None:
    (stored,) = connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
    if stored != identity:
        changes = _differences(json.loads(stored), json.loads(identity))
        raise StoreMismatch(
            f"{path} holds the scores of another search: {changes}",
            hint="change these back to resume it, or start the run in a new directory",
        )


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, default=dict)


def _differences(stored: object, now: object) -> str:
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
