"""What one candidate scored on one block of prompts, and its form in the score store."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """What one candidate scored on one block of a split's prompts.

    Attributes:
        candidate: the candidate's key.
        split: the split's name.
        number: index of the block in the split, from 0.
        values: the verifier's values, float64, shape (n,).
        valid: whether the verifier could judge, bool, shape (n,).
        tokens: generated tokens per prompt, int32, shape (n,).
        texts: the completions.
        seconds: time spent generating.
    """

    candidate: str
    split: str
    number: int
    values: npt.NDArray[np.float64]
    valid: npt.NDArray[np.bool_]
    tokens: npt.NDArray[np.int32]
    texts: tuple[str, ...]
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.texts)


class Row(NamedTuple):
    """A block as the store keeps it: little-endian arrays, completions as compressed JSON, and a checksum."""

    candidate: str
    split: str
    number: int
    size: int
    score: bytes
    valid: bytes
    tokens: bytes
    texts: bytes
    seconds: float
    checksum: int

    @property
    def intact(self) -> bool:
        return self.checksum == _checksum(self)


def pack(block: Block) -> Row:
    """The row of a block.

    Raises:
        ValueError: values, validity, tokens and texts differ in length.
    """
    n = len(block)
    if not len(block.values) == len(block.valid) == len(block.tokens) == n:
        raise ValueError(f"block {block.number} of {block.candidate} does not have {n} of everything")
    row = Row(
        block.candidate,
        block.split,
        block.number,
        n,
        np.asarray(block.values, "<f8").tobytes(),
        np.asarray(block.valid, np.uint8).tobytes(),
        np.asarray(block.tokens, "<i4").tobytes(),
        zlib.compress(json.dumps(block.texts).encode()),
        block.seconds,
        0,
    )
    return row._replace(checksum=_checksum(row))


def unpack(row: Row) -> Block:
    return Block(
        row.candidate,
        row.split,
        row.number,
        np.frombuffer(row.score, "<f8").astype(np.float64),
        np.frombuffer(row.valid, np.uint8).astype(np.bool_),
        np.frombuffer(row.tokens, "<i4").astype(np.int32),
        tuple(json.loads(zlib.decompress(row.texts))),
        row.seconds,
    )


def _checksum(row: Row) -> int:
    """CRC-32: SQLite's own check sees a broken page but not a flipped bit inside a value."""
    names = json.dumps(row[:4]).encode()
    return zlib.crc32(b"\0".join([names, row.score, row.valid, row.tokens, row.texts]))
