"""What a grader gave, as a score or as the reason why it is none. Runs in a helper process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

_KEYS = ("score", "value", "reward")


class NoScore(Exception):
    """The grader returned something that is no score."""


@dataclass(frozen=True, slots=True)
class Score:
    """`value` is None where the grader says that it does not apply."""

    value: float | None
    components: dict[str, float] = field(default_factory=dict)
    success: bool | None = None


def score(result: Any, success: str = "success") -> Score:
    """A number, a boolean, None, or an object with one of these under score, value or reward.

    Args:
        success: in an object, the entry that says true or false.

    Raises:
        NoScore: anything else.
    """
    if isinstance(result, Mapping):
        return _from_mapping(result, success)
    value = number(result)
    if value is None and result is not None:
        raise NoScore(f"a score is a number, not {short(result)}")
    return Score(value)


def the_one(result: Any) -> Score:
    """The score in a list of one.

    Raises:
        NoScore: no list, or not one score in it.
    """
    found: Any = None
    if not isinstance(result, str | Mapping):
        with suppress(TypeError):
            found = list(result)
    if found is None or len(found) != 1:
        raise NoScore(f"a list of one score was expected, not {short(result)}")
    return score(found[0])


def total(named: Sequence[tuple[str, Score]], weights: Sequence[float]) -> Score:
    """The weighted sum of those that apply, with each as a component."""
    parts = [
        (name, weight, one.value)
        for (name, one), weight in zip(named, weights, strict=True)
        if one.value is not None
    ]
    if not parts:
        return Score(None)
    return Score(sum(weight * value for _, weight, value in parts), {name: value for name, _, value in parts})


def number(value: Any) -> float | None:
    """A Python number of a boolean, a number, or what numpy and torch have of them; None for all else."""
    if not isinstance(value, Real | Decimal) and callable(getattr(value, "item", None)):
        with suppress(Exception):  # an array of several, which is no number
            value = value.item()
    return float(value) if isinstance(value, Real | Decimal) else None


def short(value: Any) -> str:
    """A value for an error message."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 80 else text[:77] + '...'}"


def _from_mapping(result: Mapping[Any, Any], success: str) -> Score:
    key = next((key for key in _KEYS if key in result), None)
    value = None if key is None else number(result[key])
    if key is None or (value is None and result[key] is not None):
        raise NoScore(f"an object has its score under {', '.join(_KEYS)}; this is {short(result)}")
    numbers = {str(name): number(part) for name, part in result.items() if name != key}
    parts = {name: part for name, part in numbers.items() if part is not None and math.isfinite(part)}
    return Score(value, parts, _truth(result.get(success)))


def _truth(value: Any) -> bool | None:
    """What a Python or numpy boolean says."""
    known = isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
    return number(value) == 1 if known else None
