"""Every score ever measured, durable the moment it is known.

One SQLite file holds one row per (candidate, split, block of prompts). Rows are added, and a row that is
there again is left alone, so a search may be killed anywhere and repeat what it is not sure of. What changes
in a row is only what could not be judged, once it can be (`amend`).
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from population.block import Block, Reason, Row, pack, reasons, unpack
from population.displacement import Displacement
from population.errors import StoreMismatch
from population.storefile import RESTORE, canonical, differences, immediate, named, open_file

if TYPE_CHECKING:
    from population.direction import Direction

Values = npt.NDArray[np.float64]
Valid = npt.NDArray[np.bool_]
_COLUMNS = ", ".join(Row._fields)


class Scores(NamedTuple):
    """A candidate's values, validity and successes on a split, in the order of its prompts."""

    values: Values
    valid: Valid
    success: Valid


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
        return cls(path, open_file(path, canonical(identity)))

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def __enter__(self) -> ScoreStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_candidate(
        self, key: str, direction: Direction | None, manner: Mapping[str, object] | None = None
    ) -> None:
        """Note what a key stands for.

        Args:
            manner: how it answers, JSON-like; empty for greedy answers in the usual order.

        Raises:
            StoreMismatch: the key stands for another direction or manner already.
        """
        text = canonical(_meaning(direction, manner or {}))
        known = self._direction(key)
        if known is None:
            with self._transaction() as connection:
                connection.execute("INSERT INTO candidate VALUES (?, ?) ON CONFLICT DO NOTHING", (key, text))
            known = self._direction(key)
        assert known is not None
        if known != text:
            raise StoreMismatch(
                f"{self.path}: candidate {key} was scored with another direction or in another manner"
                f" ({differences(json.loads(known), json.loads(text))})",
                hint="give the new one a key of its own",
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

    def amend(self, block: Block) -> None:
        """Keep a stored block's new verdicts on what could not be judged; everything else has to be the same.

        Raises:
            ValueError: there is no such block, or it differs in a verdict that was valid or in a completion.
            DiskFull: no room; the block stays as it was.
        """
        row = pack(block)
        sets = ", ".join(f"{name} = ?" for name in Row._fields)
        with self._transaction() as connection:
            where = (block.candidate, block.split, block.number)
            found = connection.execute(f"SELECT {_COLUMNS} FROM block {_ONE}", where).fetchone()
            if found is None or not _amends(self._unpacked(Row(*found)), block):
                raise ValueError(f"block {block.number} of {block.candidate} amends no stored one")
            connection.execute(f"UPDATE block SET {sets} {_ONE}", (*row, *where))

    def get(self, candidate: str, split: str, number: int) -> Block | None:
        """One block, or None where it was not scored yet.

        Raises:
            StoreMismatch: the row's bytes are not the ones that were written.
        """
        rows = self._rows(_ONE, (candidate, split, number))
        return self._unpacked(rows[0]) if rows else None

    def has(self, candidate: str, split: str, number: int) -> bool:
        return number in self.blocks(candidate, split)

    def blocks(self, candidate: str, split: str) -> dict[int, int]:
        """Number of each stored block and how many prompts it has, in order."""
        with self._lock, named(self.path):
            return dict(
                self._connection.execute(
                    "SELECT number, size FROM block WHERE candidate = ? AND split = ? ORDER BY number",
                    (candidate, split),
                )
            )

    def unjudged(self, candidate: str, split: str) -> dict[int, list[Reason]]:
        """Of each stored block, why prompts could not be judged, in order; empty where all were."""
        with self._lock, named(self.path):
            found = self._connection.execute(
                "SELECT number, faults FROM block WHERE candidate = ? AND split = ? ORDER BY number",
                (candidate, split),
            ).fetchall()
        return {number: list(reasons(faults).values()) for number, faults in found}

    def scores(self, candidate: str, split: str) -> Scores:
        """What every stored prompt got, in order."""
        blocks = self._split(candidate, split)
        none = np.empty(0, np.bool_)
        return Scores(
            np.concatenate([np.empty(0), *(block.values for block in blocks)]),
            np.concatenate([none, *(block.valid for block in blocks)]),
            np.concatenate([none, *(block.success for block in blocks)]),
        )

    def vector(self, candidate: str, split: str, n: int) -> Scores:
        """What the `n` prompts of a split got, each array of shape (n,).

        Raises:
            StoreMismatch: not exactly those prompts are stored.
        """
        blocks = self.blocks(candidate, split)
        found = sum(blocks.values())
        if found != n or list(blocks) != list(range(len(blocks))):
            raise StoreMismatch(
                f"{self.path}: candidate {candidate} has scores for {found} of {n} prompts of split {split}",
                hint="resume the search to score the rest",
            )
        return self.scores(candidate, split)

    def texts(self, candidate: str, split: str) -> list[str]:
        """The completions of every stored block, in the order of the prompts."""
        return [text for block in self._split(candidate, split) for text in block.texts]

    def tokens(self, candidate: str, split: str) -> int:
        """Tokens generated for a split, over all its stored blocks."""
        return sum(int(block.tokens.sum()) for block in self._split(candidate, split))

    def put_displacement(self, candidate: str, prompts: int, found: Displacement) -> None:
        """Keep how far a candidate moved the model on its first `prompts` prompts; what is there stays.

        Raises:
            DiskFull: no room; everything kept before stays readable.
        """
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO displacement VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (candidate, prompts, found.kl, found.hidden),
            )

    def displacement(self, candidate: str, prompts: int) -> Displacement | None:
        """What `put_displacement` kept, or None."""
        with self._lock, named(self.path):
            row = self._connection.execute(
                "SELECT kl, hidden FROM displacement WHERE candidate = ? AND prompts = ?",
                (candidate, prompts),
            ).fetchone()
        return Displacement(*row) if row else None

    def digest(self) -> str:
        """SHA-256 over every score: equal for two stores exactly if they hold the same table.

        Values, validity and successes count; times, token counts, texts and reasons do not.
        """
        total = hashlib.sha256()
        for row in self._rows("ORDER BY candidate, split, number"):
            block = self._unpacked(row)
            total.update(canonical([block.candidate, block.split, block.number, len(block)]).encode())
            total.update(row.score + row.valid + row.success)
        return total.hexdigest()

    def _direction(self, key: str) -> str | None:
        with self._lock, named(self.path):
            row = self._connection.execute("SELECT direction FROM candidate WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def _split(self, candidate: str, split: str) -> list[Block]:
        rows = self._rows("WHERE candidate = ? AND split = ? ORDER BY number", (candidate, split))
        return [self._unpacked(row) for row in rows]

    def _rows(self, clause: str, parameters: tuple[object, ...] = ()) -> list[Row]:
        with self._lock, named(self.path):
            found = self._connection.execute(f"SELECT {_COLUMNS} FROM block {clause}", parameters)
            return [Row(*row) for row in found]

    def _unpacked(self, row: Row) -> Block:
        if not row.intact:
            raise StoreMismatch(
                f"{self.path}: block {row.number} of {row.candidate} on {row.split} is damaged",
                hint=RESTORE,
            )
        return unpack(row)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, named(self.path), immediate(self._connection):
            yield self._connection


_ONE = "WHERE candidate = ? AND split = ? AND number = ?"


def _amends(stored: Block, block: Block) -> bool:
    """Whether only verdicts that were not valid differ."""
    kept = stored.valid
    return (
        stored.texts == block.texts
        and bool(block.valid[kept].all())
        and np.array_equal(stored.values[kept], block.values[kept])
        and np.array_equal(stored.success[kept], block.success[kept])
        and np.array_equal(stored.tokens, block.tokens)
    )


def _meaning(direction: Direction | None, manner: Mapping[str, object]) -> object:
    plain = direction.to_json() if direction else None
    return {"direction": plain, **manner} if manner else plain
