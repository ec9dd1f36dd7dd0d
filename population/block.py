"""What one candidate scored on one block of prompts, and its form in the score store."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Reason(NamedTuple):
    """Why a completion could not be judged: a `verify.verdict.Fault` and the sentence behind it."""

    error: str
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """What one candidate scored on one block of a split's prompts.

    Attributes:
        candidate: the candidate's key.
        split: the split's name.
        number: index of the block in the split, from 0.
        values: the verifier's values, float64, shape (n,).
        valid: whether the verifier could judge, bool, shape (n,).
        success: whether the answer passes; only where it is valid. Bool, shape (n,).
        tokens: generated tokens per prompt, int32, shape (n,).
        texts: the completions.
        seconds: time spent generating.
        faults: of the prompts that could not be judged, by their place in the block.
    """

    candidate: str
    split: str
    number: int
    values: npt.NDArray[np.float64]
    valid: npt.NDArray[np.bool_]
    success: npt.NDArray[np.bool_]
    tokens: npt.NDArray[np.int32]
    texts: tuple[str, ...]
    seconds: float = 0.0
    faults: Mapping[int, Reason] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)


class Row(NamedTuple):
    """A block as the store keeps it: little-endian arrays, texts as compressed JSON, and a checksum."""

    candidate: str
    split: str
    number: int
    size: int
    score: bytes
    valid: bytes
    success: bytes
    tokens: bytes
    texts: bytes
    faults: bytes
    seconds: float
    checksum: int

    @property
    def intact(self) -> bool:
        return self.checksum == _checksum(self)


def pack(block: Block) -> Row:
    """The row of a block.

    Raises:
        ValueError: values, validity, success, tokens and texts differ in length, or a prompt passes that
            could not be judged.
    """
    n = len(block)
    if not len(block.values) == len(block.valid) == len(block.success) == len(block.tokens) == n:
        raise ValueError(f"block {block.number} of {block.candidate} does not have {n} of everything")
    if np.any(block.success & ~block.valid):
        raise ValueError(f"block {block.number} of {block.candidate} passes prompts that were not judged")
    row = Row(
        block.candidate,
        block.split,
        block.number,
        n,
        np.asarray(block.values, "<f8").tobytes(),
        np.asarray(block.valid, np.uint8).tobytes(),
        np.asarray(block.success, np.uint8).tobytes(),
        np.asarray(block.tokens, "<i4").tobytes(),
        _squeezed(block.texts),
        _squeezed(list(block.faults.items())),
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
        np.frombuffer(row.success, np.uint8).astype(np.bool_),
        np.frombuffer(row.tokens, "<i4").astype(np.int32),
        tuple(json.loads(zlib.decompress(row.texts))),
        row.seconds,
        reasons(row.faults),
    )


def reasons(faults: bytes) -> dict[int, Reason]:
    """Why prompts of a stored block could not be judged, by their place in it."""
    return {at: Reason(*reason) for at, reason in json.loads(zlib.decompress(faults))}


def _squeezed(value: object) -> bytes:
    return zlib.compress(json.dumps(value).encode())


def _checksum(row: Row) -> int:
    """CRC-32: SQLite's own check sees a broken page but not a flipped bit inside a value."""
    names = json.dumps(row[:4]).encode()
    parts = (row.score, row.valid, row.success, row.tokens, row.texts, row.faults)
    return zlib.crc32(b"\0".join([names, *parts]))
