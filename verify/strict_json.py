"""JSON without the liberties of Python's reader."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

MAX_DEPTH = 64


def loads(text: str | bytes) -> Any:
    """The value, with duplicate keys, NaN, infinities and nesting beyond 64 levels refused.

    Raises:
        ValueError: not JSON, or one of the above (`json.JSONDecodeError` is one).
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH}") from None
    _measure(value, MAX_DEPTH)
    return value


def canonical(value: Any) -> bytes:
    """The one spelling of a JSON value: sorted keys, no spaces, ASCII.

    Raises:
        ValueError: a NaN or an infinity in it.
        TypeError: something that is not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, and true equals neither."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _measure(value: Any, room: int) -> None:
    if not isinstance(value, dict | list):
        return
    if room == 0:
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    for inner in value.values() if isinstance(value, dict) else value:
        _measure(inner, room - 1)
