"""Plain values as JSON that keeps their types: what comes out of the sandbox, and nothing else does.

Encoding runs inside the caged process, on the standard library alone; decoding in ours, on bytes that a
hostile program may have written. A value is `[tag, content]`; integers are hexadecimal, which has no limit on
digits and is read in linear time, floats are `float.hex`, NaN and infinities included.
"""

from __future__ import annotations

from typing import Any

DEPTH = 64
NODES = 100_000
COLLISIONS = 100  # of hashes, in one set or dictionary
_SEQUENCES: dict[str, type] = {"l": list, "t": tuple, "S": set, "F": frozenset}


class NotPlain(Exception):
    """A value that is not made of plain ones, or too deep, or of too many."""


def encode(value: object) -> list[Any]:
    """Subclasses count as what they derive from: a Counter is a dict, a namedtuple a tuple.

    Raises:
        NotPlain: anything else.
    """
    return _encoded(value, 0, [0])


def _encoded(value: object, depth: int, count: list[int]) -> list[Any]:
    count[0] += 1
    if depth > DEPTH:
        raise NotPlain(f"a value nested deeper than {DEPTH}")
    if count[0] > NODES:
        raise NotPlain(f"a value of more than {NODES} parts")
    if value is None or value is True or value is False:
        return ["c", value]
    if isinstance(value, int):
        return ["i", hex(int.__index__(value))]
    if isinstance(value, float):
        return ["f", float.hex(value)]
    if isinstance(value, complex):
        return ["z", [float.hex(value.real), float.hex(value.imag)]]
    if isinstance(value, str):
        return ["s", str.__str__(value)]
    if isinstance(value, bytes | bytearray):
        return ["b", bytes(value).hex()]
    for tag, kind in _SEQUENCES.items():
        if isinstance(value, kind):
            return [tag, [_encoded(part, depth + 1, count) for part in kind.__iter__(value)]]  # type: ignore[attr-defined]
    if isinstance(value, dict):
        pairs = dict.items(value)
        return [
            "d",
            [[_encoded(key, depth + 1, count), _encoded(part, depth + 1, count)] for key, part in pairs],
        ]
    raise NotPlain(f"a value of the type {type(value).__name__}, which is not plain")


def decode(data: Any) -> object:
    """Raises:
    NotPlain: data that `encode` does not make.
    """
    try:
        return _decoded(data, 0, [0])
    except NotPlain:
        raise
    except Exception as error:  # whatever a forged answer makes of it
        raise NotPlain(f"not an encoded value: {type(error).__name__}") from None


def _decoded(data: Any, depth: int, count: list[int]) -> object:
    count[0] += 1
    if depth > DEPTH or count[0] > NODES or type(data) is not list or len(data) != 2:
        raise NotPlain("not an encoded value")
    tag, content = data
    if tag == "c" and (content is None or type(content) is bool):
        return content
    if tag == "i":
        return int(content, 16)
    if tag == "f":
        return float.fromhex(content)
    if tag == "z":
        return complex(*map(float.fromhex, content))
    if tag == "s" and type(content) is str:
        return content
    if tag == "b":
        return bytes.fromhex(content)
    if tag in _SEQUENCES and type(content) is list:
        parts = [_decoded(part, depth + 1, count) for part in content]
        return _SEQUENCES[tag](parts if tag in "lt" else _spread(parts))
    if tag == "d" and type(content) is list:
        keys = _spread([_decoded(key, depth + 1, count) for key, _ in content])
        return dict(zip(keys, (_decoded(part, depth + 1, count) for _, part in content), strict=True))
    raise NotPlain("not an encoded value")


def _spread(keys: list[Any]) -> list[Any]:
    """Keys that were chosen to collide would make a set of them quadratic: 10,000 cost a second here."""
    if len(keys) - len(set(map(hash, keys))) > COLLISIONS:
        raise NotPlain("too many keys with the same hash")
    return keys
