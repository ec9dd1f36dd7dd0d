"""Fields of directions, laws and merges, checked one by one: what is no number never reaches a loop."""

from __future__ import annotations

import math
import operator
from typing import Any

from population.errors import DirectionInvalid

FLOAT32_MAX = 3.4028234663852886e38


def as_seed(value: Any) -> int:
    """``value`` as an integer in [0, 2⁶⁴); DirectionInvalid otherwise."""
    try:
        seed = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        seed = -1
    if not 0 <= seed < 2**64:
        raise DirectionInvalid(f"seed {value!r} is not an integer from 0 to 2^64 - 1")
    return seed


def as_float(value: Any, what: str) -> float:
    """``value`` as a float that float32 can hold, with −0 as 0; DirectionInvalid otherwise."""
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= FLOAT32_MAX:
        raise DirectionInvalid(f"{what} is {value!r}, not a finite float32 number")
    return number + 0.0


def as_table(
    data: object, what: str, names: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    """``data`` if it is a JSON object of these fields, perhaps ``optional`` ones; else DirectionInvalid."""
    if not isinstance(data, dict) or not set(names) <= set(data) <= {*names, *optional}:
        found = ", ".join(map(str, data)) if isinstance(data, dict) else type(data).__name__
        raise DirectionInvalid(f"a {what} has the fields {', '.join(names)}; this one has {found}")
    return data
