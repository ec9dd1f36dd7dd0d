"""Headers of safetensors files: parsed and checked here, so that a hostile file costs nothing.

A file is an 8-byte little-endian length, that many bytes of JSON, and the tensors' bytes, which the
header's ``data_offsets`` tile without holes or overlap (https://github.com/huggingface/safetensors,
"Format"). Nothing is mapped into memory and no tensor byte is read.
"""

from __future__ import annotations

import errno
import json
import math
import reprlib
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from population.errors import ModelMissing, ModelUnsupported

HEADER_LIMIT = 100_000_000  # bytes; the format's own limit
MOST_DIMENSIONS = 64  # of a tensor; numpy's limit

DTYPES: Mapping[str, tuple[str, int]] = {  # name in the file: (ours, bytes per element)
    "BF16": ("bfloat16", 2),
    "F16": ("float16", 2),
    "F32": ("float32", 4),
    "F64": ("float64", 8),
    "BOOL": ("bool", 1),
    "U8": ("uint8", 1),
    "I8": ("int8", 1),
    "U16": ("uint16", 2),
    "I16": ("int16", 2),
    "U32": ("uint32", 4),
    "I32": ("int32", 4),
    "U64": ("uint64", 8),
    "I64": ("int64", 8),
    "F8_E4M3": ("float8_e4m3", 1),
    "F8_E5M2": ("float8_e5m2", 1),
}


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where one tensor lies: ``nbytes`` bytes from byte ``offset`` of ``file`` (a name in the checkpoint)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str
    offset: int
    nbytes: int

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def read_header(path: Path) -> dict[str, TensorInfo]:
    """The tensors of one safetensors file, in the order of their bytes.

    Raises:
        ModelMissing: the file cannot be read.
        ModelUnsupported: it is not a well-formed safetensors file.
    """
    try:
        with open_plain(path) as file:
            total = path.stat().st_size
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(HEADER_LIMIT, total - 8):
                raise _malformed(path, f"a header of {length} bytes in a file of {total}")
            text = file.read(length)
    except OSError as error:
        raise ModelMissing(f"{path} cannot be read: {error.strerror}") from error
    entries = _entries(path, text)
    tensors = [_tensor(path, name, entry, 8 + length) for name, entry in entries.items()]
    tensors.sort(key=lambda tensor: (tensor.offset, tensor.nbytes))
    _check_tiling(path, tensors, 8 + length, total)
    return {tensor.name: tensor for tensor in tensors}


def open_plain(path: Path) -> BinaryIO:
    """A regular file, or a link to one, for reading: opening a pipe would wait for ever.

    Raises:
        OSError: it cannot be opened, or is something else.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a plain file")
    return path.open("rb")


def _malformed(path: Path, what: str) -> ModelUnsupported:
    return ModelUnsupported(
        f"{path} is not a valid safetensors file: {what}", hint="fetch or save the checkpoint again"
    )


def _entries(path: Path, text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) != len(pairs):
            raise ValueError("a name occurs twice")
        return table

    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise _malformed(path, f"its header is not JSON ({str(error)[:100]})") from error
    if not isinstance(header, dict):
        raise _malformed(path, "its header is not a JSON object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _malformed(path, "its metadata is not a table of strings")
    return header


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _tensor(path: Path, name: str, entry: object, start: int) -> TensorInfo:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise _malformed(path, f"tensor {name!r} lacks dtype, shape or data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelUnsupported(
            f"{path}: tensor {name!r} has the dtype {dtype!r}, which CoRP does not know",
            hint="use the float16, bfloat16 or float32 version of the model",
        )
    if (
        not isinstance(shape, list)
        or len(shape) > MOST_DIMENSIONS
        or not all(_is_count(extent) for extent in shape)
    ):
        raise _malformed(path, f"tensor {name!r} has the shape {reprlib.repr(shape)}")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_is_count(end) for end in offsets):
        raise _malformed(path, f"tensor {name!r} has the offsets {reprlib.repr(offsets)}")
    ours, width = DTYPES[dtype]
    nbytes = offsets[1] - offsets[0]
    if nbytes != math.prod(shape) * width:
        raise _malformed(path, f"tensor {name!r} of shape {shape} and dtype {dtype} has {nbytes} bytes")
    return TensorInfo(name, ours, tuple(shape), path.name, start + offsets[0], nbytes)


def _check_tiling(path: Path, tensors: list[TensorInfo], start: int, total: int) -> None:
    end = start
    for tensor in tensors:
        if tensor.offset != end:
            raise _malformed(path, f"tensor {tensor.name!r} leaves a hole or overlaps its neighbour")
        end += tensor.nbytes
    if end != total:
        raise _malformed(path, f"its tensors end at byte {end} of {total}")
