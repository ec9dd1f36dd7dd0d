"""What comes out of the sandbox: plain values with their types, and nothing that forged bytes can break."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict, defaultdict, namedtuple
from enum import IntEnum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.sandbox.caged.plain import DEPTH, NODES, NotPlain, decode, encode

atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**5000), 2**5000)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(exclude_categories=[]))  # lone surrogates too
    | st.binary()
)
keys = st.recursive(atoms, lambda part: st.tuples(part, part) | st.frozensets(part, max_size=3), max_leaves=4)
values = st.recursive(
    atoms,
    lambda part: (
        st.lists(part) | st.tuples(part, part) | st.dictionaries(keys, part) | st.sets(keys, max_size=4)
    ),
    max_leaves=20,
)


def types(value: object) -> object:
    """The types of all parts: equality alone does not tell 1 from True or 1.0."""
    if isinstance(value, dict):
        return dict, sorted(repr((types(key), types(part))) for key, part in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        parts = [repr(types(part)) for part in value]
        return type(value), parts if isinstance(value, list | tuple) else sorted(parts)
    return type(value)


def passed(value: object) -> object:
    return decode(json.loads(json.dumps(encode(value))))


@given(values)
def test_plain_values_pass_unchanged(value: object) -> None:
    assert passed(value) == value
    assert types(passed(value)) == types(value)


def test_every_float_passes() -> None:
    assert math.isnan(passed(math.nan))  # type: ignore[arg-type]
    assert passed([math.inf, -math.inf]) == [math.inf, -math.inf]
    assert math.copysign(1, passed(-0.0)) == -1  # type: ignore[arg-type]


class Always(int):
    """Equal to everything, until only its value is left."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7

    def __index__(self) -> int:
        return 99


class Liar(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        yield from [0, 0]

    def __len__(self) -> int:
        return 2


class Colour(IntEnum):
    RED = 3


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(list, {1: [2]}), {1: [2]}),
        (Point(1, 2), (1, 2)),
        (Colour.RED, 3),
        (Always(4), 4),
        (Liar([1, 2, 3]), [1, 2, 3]),
        (bytearray(b"x"), b"x"),
    ],
)
def test_subclasses_are_what_they_derive_from(value: object, plain: object) -> None:
    assert passed(value) == plain
    assert types(passed(value)) == types(plain)


@pytest.mark.parametrize("value", [object(), Fraction(1, 2), iter([]), range(3), len, int, {}.keys()])
def test_other_values_do_not_come_out(value: object) -> None:
    with pytest.raises(NotPlain):
        encode(value)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_depth_and_number_of_parts_are_limited() -> None:
    assert passed(nested(DEPTH)) == nested(DEPTH)
    assert passed([0] * (NODES - 1)) == [0] * (NODES - 1)
    for value in (nested(DEPTH + 1), nested(100_000), [0] * NODES):
        with pytest.raises(NotPlain):
            encode(value)


def test_limits_hold_for_forged_data_too() -> None:
    deep: list[Any] = ["l", []]
    for _ in range(DEPTH + 1):
        deep = ["l", [deep]]
    for data in (deep, ["l", [["c", None]] * NODES]):
        with pytest.raises(NotPlain):
            decode(data)


def test_keys_that_collide_are_refused_before_they_cost_time() -> None:
    colliding = [["i", hex((2**61 - 1) * factor)] for factor in range(20_000)]
    for data in (["S", colliding], ["F", colliding], ["d", [[key, ["c", None]] for key in colliding]]):
        with pytest.raises(NotPlain):
            decode(data)
    assert decode(["S", colliding[:50]]) == {(2**61 - 1) * factor for factor in range(50)}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=2), part, max_size=2),
    max_leaves=15,
)
tagged = st.recursive(
    json_values,
    lambda part: st.tuples(st.sampled_from("cifzsbltSFd?"), part | st.lists(part, max_size=3)).map(list),
    max_leaves=15,
)


@given(json_values | tagged)
def test_any_json_is_a_plain_value_or_none(data: object) -> None:
    try:
        value = decode(data)
    except NotPlain:
        return
    again = passed(value)
    assert again == value or repr(again) == repr(value)  # NaN is not equal to itself
