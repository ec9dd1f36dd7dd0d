"""Axes and words of the figures."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corp.report.plot import SHAPE, SHAPES, Scale, spanning, ticks
from corp.report.wording import percent, points, probability, signed, significant

numbers = st.floats(-1e6, 1e6, allow_nan=False)


@given(numbers, numbers)
def test_ticks_are_few_round_and_inside(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assume(high - low > 1e-6 * max(1.0, abs(high)))
    found = ticks(Scale(low, high, 0, 100))
    assert 2 <= len(found) <= 8
    room = 1e-6 * (high - low)
    assert all(low - room <= value <= high + room for value in found)
    step = found[1] - found[0]
    assert step / 10 ** math.floor(math.log10(step) + 1e-9) == pytest.approx(
        round(step / 10 ** math.floor(math.log10(step) + 1e-9)), rel=1e-3
    )


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=20), st.booleans())
def test_a_spanning_scale_keeps_order_and_room(values: list[float], log: bool) -> None:
    scale = spanning(values, 10, 110, log=log)
    placed = [scale(value) for value in sorted(values)]
    assert placed == sorted(placed)
    assert min(placed) > 10
    assert max(placed) < 110


def test_every_shape_is_drawn_differently() -> None:
    assert set(SHAPES) == set(SHAPE)
    assert len({SHAPE[name](5, 5, 3) for name in SHAPES}) == len(SHAPES)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (percent(0.6213), "62.1\u2009%"),
        (points(0.187), "+18.7"),
        (points(-0.0101), "−1.0"),
        (points(-0.0001), "0.0"),
        (signed(-0.0123), "−0.012"),
        (significant(0.0135), "0.0135"),
        (significant(5.5), "5.50"),
        (significant(333984), "333,984"),
        (significant(-4.123e-5), "−4.12 · 10⁻⁵"),
        (significant(0), "0"),
        (probability(0.032), "0.032"),
        (probability(8.4e-34), "8.40 · 10⁻³⁴"),
    ],
)
def test_numbers_are_written_as_readers_expect(found: str, expected: str) -> None:
    assert found == expected
