"""Where every tensor of an export lies, decided before the first byte is written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from population.checkpoint import INDEX, RAW, SINGLE
from population.header import DTYPES, TensorInfo

ENVELOPE = 64  # more bytes than a header's length, metadata and padding take
FORMAT_NAMES = {ours: theirs for theirs, (ours, _) in DTYPES.items()}


@dataclass(frozen=True, slots=True)
class Shard:
    """One safetensors file.

    Attributes:
        header: its first bytes, the 8-byte length included; a multiple of 8 long.
        tensors: in the order of their bytes, with absolute offsets.
    """

    file: str
    header: bytes
    tensors: tuple[TensorInfo, ...]

    @property
    def nbytes(self) -> int:
        return len(self.header) + sum(tensor.nbytes for tensor in self.tensors)


def plan(tensors: Iterable[TensorInfo], storage: str, shard_bytes: int) -> tuple[Shard, ...]:
    """Files of at most ``shard_bytes`` bytes that hold ``tensors`` in their order, cast to ``storage``.

    A tensor that is larger than that gets a file of its own.
    """
    groups = _groups([_cast(tensor, storage) for tensor in tensors], shard_bytes)
    if len(groups) == 1:
        return (shard(SINGLE, groups[0]),)
    count = len(groups)
    return tuple(
        shard(f"model-{number:05d}-of-{count:05d}.safetensors", group)
        for number, group in enumerate(groups, start=1)
    )


def index(shards: Sequence[Shard]) -> dict[str, bytes]:
    """The index file that several shards need, by name; empty for one."""
    if len(shards) == 1:
        return {}
    tensors = [tensor for shard in shards for tensor in shard.tensors]
    content = {
        "metadata": {
            "total_parameters": sum(tensor.size for tensor in tensors),
            "total_size": sum(tensor.nbytes for tensor in tensors),
        },
        "weight_map": {tensor.name: tensor.file for tensor in tensors},
    }
    return {INDEX: f"{json.dumps(content, indent=2, sort_keys=True)}\n".encode()}


def _cast(tensor: TensorInfo, storage: str) -> TensorInfo:
    nbytes = math.prod(tensor.shape) * RAW[storage].itemsize
    return TensorInfo(tensor.name, storage, tensor.shape, "", 0, nbytes)


def _groups(tensors: Sequence[TensorInfo], shard_bytes: int) -> list[list[TensorInfo]]:
    groups: list[list[TensorInfo]] = [[]]
    size = ENVELOPE
    for tensor in tensors:
        added = tensor.nbytes + _entry_limit(tensor)
        if groups[-1] and size + added > shard_bytes:
            groups.append([])
            size = ENVELOPE
        groups[-1].append(tensor)
        size += added
    return groups


def _entry_limit(tensor: TensorInfo) -> int:
    """More bytes than the tensor's entry in a header takes: 80 hold its keys, dtype and two offsets."""
    return len(json.dumps(tensor.name)) + len(json.dumps(tensor.shape)) + 80


def shard(file: str, tensors: Sequence[TensorInfo]) -> Shard:
    """The file that holds ``tensors`` in this order; where they lay before does not matter."""
    header = _header(tensors)
    placed, offset = [], len(header)
    for tensor in tensors:
        placed.append(TensorInfo(tensor.name, tensor.dtype, tensor.shape, file, offset, tensor.nbytes))
        offset += tensor.nbytes
    return Shard(file, header, tuple(placed))


def _header(tensors: Sequence[TensorInfo]) -> bytes:
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    begin = 0
    for tensor in tensors:
        entries[tensor.name] = {
            "dtype": FORMAT_NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, begin + tensor.nbytes],
        }
        begin += tensor.nbytes
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the tensors start at a multiple of 8, as the format asks
    return len(text).to_bytes(8, "little") + text
