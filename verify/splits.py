"""Disjoint splits that depend on the rows and a seed, on nothing else.

Rows are told apart by the conversation they lead to: two rows that ask the model the same are one row. Each
row's place is BLAKE2b of its content under the seed, so the order of a file, the platform and Python's hash
do not matter. The test split is cut first and the support split last: a larger support split takes no row
from the held-out ones (for data that are all read; a generator makes only as many rows as are asked for).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from verify.data import SPLITS, Row, Source
from verify.errors import DataUnusable, SplitOverlap, TooFewRows
from verify.prompt import PromptSpec
from verify.strict_json import canonical
from verify.verdict import Item

CUT_ORDER = tuple(reversed(SPLITS))

Dealt = dict[str, tuple[Item, ...]]


@dataclass(frozen=True, slots=True)
class Distinct:
    """A row, the digest of its conversation and where it first stood."""

    content: bytes
    where: str
    item: dict[str, Any]


class Splitter:
    """Reads sources and hands out rows.

    Args:
        prompt: decides what the same content is.
        decisive: the item fields that the verifier reads; rows that ask the same must agree on them.
        seed: of the shuffle.
        folder: what relative paths start from.
    """

    def __init__(self, prompt: PromptSpec, decisive: Sequence[str], *, seed: int, folder: Path) -> None:
        self._prompt = prompt
        self._decisive = tuple(decisive)
        self._key = seed.to_bytes(8, "little")
        self._folder = folder

    def shared(self, source: Source, counts: Mapping[str, int]) -> Dealt:
        """All splits cut from one source.

        Raises:
            DataUnusable: unreadable data, a row without the template's fields, rows that contradict.
            TooFewRows: fewer distinct rows than the splits ask for.
        """
        asked = " + ".join(f"{name} {counts[name]}" for name in SPLITS)
        needed = sum(counts.values())
        rows = self.distinct(source, needed)
        chosen = self._smallest(rows, source, needed, f"the splits ask for {needed} ({asked})")
        items = iter(row.item for row in chosen)
        cut = {name: tuple(next(items) for _ in range(counts[name])) for name in CUT_ORDER}
        return {name: cut[name] for name in SPLITS}

    def separate(self, sources: Mapping[str, Source], counts: Mapping[str, int]) -> Dealt:
        """Every split from its own source.

        Raises:
            DataUnusable, TooFewRows: as above.
            SplitOverlap: the same content in two sources, whether or not those rows were chosen.
        """
        owners: dict[bytes, tuple[str, str]] = {}
        out: Dealt = {}
        for name in SPLITS:
            rows = self._apart(self.distinct(sources[name], counts[name]), name, owners)
            chosen = self._smallest(
                rows, sources[name], counts[name], f"split {name} asks for {counts[name]}"
            )
            out[name] = tuple(row.item for row in chosen)
        return out

    def distinct(self, source: Source, needed: int) -> Iterator[Distinct]:
        """The source's rows without repeats, the first of each kept."""
        seen: dict[bytes, tuple[bytes, str]] = {}
        for row in source.read(self._folder, needed):
            content = sha256(canonical(self._prompt.messages(row.item, row.where))).digest()
            decisive = sha256(canonical([row.item.get(name) for name in self._decisive])).digest()
            first = seen.setdefault(content, (decisive, row.where))
            if first[0] != decisive:
                self._contradiction(first[1], row)
            elif first[1] == row.where:
                yield Distinct(content, row.where, row.item)

    def _contradiction(self, first: str, row: Row) -> None:
        raise DataUnusable(
            f"{first} and {row.where} ask the same and differ in {' or '.join(self._decisive)}",
            hint="keep one of them, or let the prompt name a field that tells them apart",
        )

    def _smallest(self, rows: Iterator[Distinct], source: Source, needed: int, asked: str) -> list[Distinct]:
        """The first `needed` rows in the seed's order; only these are held in memory."""
        found = 0

        def counted() -> Iterator[Distinct]:
            nonlocal found
            for row in rows:
                found += 1
                yield row

        chosen = heapq.nsmallest(needed, counted(), key=self._place)
        if not found:
            raise DataUnusable(f"{source.describe()} has no rows")
        if found < needed:
            raise TooFewRows(
                f"{source.describe()} has {found} distinct rows, {asked}",
                hint="add rows or make the splits smaller",
            )
        return chosen

    def _place(self, row: Distinct) -> bytes:
        return blake2b(row.content, key=self._key, digest_size=16).digest()

    def _apart(
        self, rows: Iterator[Distinct], split: str, owners: dict[bytes, tuple[str, str]]
    ) -> Iterator[Distinct]:
        for row in rows:
            owner, where = owners.setdefault(row.content, (split, row.where))
            if owner != split:
                text = self._prompt.messages(row.item)[-1]["content"]
                raise SplitOverlap(
                    f"{owner} ({where}) and {split} ({row.where}) both ask {text[:120]!r}",
                    hint="a row may serve one split only; give one source and let the splits be cut from it",
                )
            yield row
