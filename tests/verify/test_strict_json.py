from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.strict_json import MAX_DEPTH, canonical, loads, same

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(values)
def test_every_json_value_survives_and_equals_itself(value: Any) -> None:
    assert loads(canonical(value)) == value
    assert same(loads(json.dumps(value)), value)


@given(st.dictionaries(st.text(), st.integers()))
def test_the_canonical_form_ignores_the_order_of_keys(value: dict[str, int]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "-Infinity",
        "[1e999]",
        '{"a": 1, "a": 1}',
        "[" * 65 + "]" * 65,
        "[" * 9999 + "]" * 9999,
        "",
        "1 2",
        "'a'",
    ],
)
def test_what_python_would_let_pass_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own error is one
        loads(text)


def test_nesting_is_allowed_up_to_the_limit() -> None:
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ([1], [True], False),
        ({"a": 0}, {"a": False}, False),
    ],
)
def test_numbers_equal_by_value_and_booleans_only_booleans(one: object, other: object, equal: bool) -> None:
    assert same(one, other) is same(other, one) is equal
