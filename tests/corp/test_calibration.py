"""The search for a σ on curves whose answer is known, and the rule for outliers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corp.calibration import MOST, TOLERANCE, levels, median, outliers, round_sigma, search
from corp.errors import CalibrationFailed

BOUNDS = (1e-6, 1.0)


class Curve:
    """A displacement curve that keeps what it was asked."""

    def __init__(self, kl: Callable[[float], float]) -> None:
        self.kl = kl
        self.asked: list[float] = []

    def __call__(self, sigma: float) -> float:
        self.asked.append(sigma)
        return self.kl(sigma)


def power(sigma_at_one: float, exponent: float) -> Curve:
    return Curve(lambda sigma: (sigma / sigma_at_one) ** exponent)


@given(
    solution=st.floats(1e-4, 0.3),
    exponent=st.floats(0.8, 6),
    target=st.floats(1e-3, 1),
    start=st.floats(1e-4, 0.3),
)
def test_a_power_law_is_solved(solution: float, exponent: float, target: float, start: float) -> None:
    curve = Curve(lambda sigma: target * (sigma / solution) ** exponent)
    point = search(curve, target, start, BOUNDS)
    assert abs(math.log(point.kl / target)) <= TOLERANCE
    assert point.sigma == pytest.approx(solution, rel=math.expm1(TOLERANCE / exponent) + 1e-3)
    assert len(curve.asked) <= MOST
    assert len(set(curve.asked)) == len(curve.asked)


def test_the_expected_curve_takes_two_measurements() -> None:
    curve = power(0.02, 2.0)
    search(curve, 0.05, 0.02, BOUNDS)
    assert len(curve.asked) == 2


@given(st.floats(0.002, 0.2), st.floats(0.3, 3.0), st.floats(0.01, 0.9))
def test_saturation_above_the_target_does_not_matter(knee: float, height: float, share: float) -> None:
    """KL grows with the square and levels off at ``height``."""
    curve = Curve(lambda sigma: height * -math.expm1(-((sigma / knee) ** 2)))
    target = share * height
    point = search(curve, target, 0.03, (1e-6, 10.0))
    assert abs(math.log(point.kl / target)) <= TOLERANCE


def test_a_model_that_breaks_above_the_answer_is_searched_below() -> None:
    curve = Curve(lambda sigma: math.inf if sigma > 0.01 else (sigma / 0.01) ** 2)
    assert search(curve, 0.05, 0.5, BOUNDS).sigma == pytest.approx(0.01 * math.sqrt(0.05), rel=0.06)


def test_noise_that_is_rounded_away_is_searched_above() -> None:
    curve = Curve(lambda sigma: 0.0 if sigma < 0.002 else (sigma / 0.02) ** 2)
    assert search(curve, 0.05, 1e-4, BOUNDS).sigma == pytest.approx(0.02 * math.sqrt(0.05), rel=0.06)


@pytest.mark.parametrize(
    ("kl", "message"),
    [
        (lambda sigma: 0.0, r"no sigma up to 1 moves .* the most was 0 "),
        (
            lambda sigma: 0.02 * -math.expm1(-sigma / 0.1),
            r"no sigma up to 1 moves .* the most was 0\.02 at 1",
        ),
        (lambda sigma: 3.0, "even sigma 1e-06 moves the model by 3 nats"),
        (lambda sigma: math.inf, "even sigma 1e-06 moves the model by inf nats"),
        (lambda sigma: 0.001 if sigma < 0.0123 else 2.0, r"jumps over 0\.05 .* 0\.001 at .* 2 at"),
        (lambda sigma: 0.0 if sigma < 0.0123 else 2.0, r"jumps over 0\.05 .* 0 at .* 2 at"),
    ],
)
def test_what_cannot_be_reached_is_said(kl: Callable[[float], float], message: str) -> None:
    curve = Curve(kl)
    with pytest.raises(CalibrationFailed, match=message):
        search(curve, 0.05, 0.01, BOUNDS)
    assert len(curve.asked) <= MOST
    assert all(BOUNDS[0] <= sigma <= BOUNDS[1] for sigma in curve.asked)


@example([0.0, 0.0, 0.5, 2.2250738585072014e-308] + [0.0] * (MOST - 4), 1.0)  # its secant overflows
@given(st.lists(st.floats(0, 10), min_size=MOST, max_size=MOST), st.floats(1e-3, 1))
def test_whatever_is_measured_the_search_ends_and_repeats_itself(answers: list[float], target: float) -> None:
    """No curve at all: arbitrary answers in turn, each σ keeping its own."""

    def run() -> tuple[list[float], float | str]:
        kept: dict[float, float] = {}
        curve = Curve(lambda sigma: kept.setdefault(sigma, answers[len(kept)]))
        try:
            return curve.asked, search(curve, target, 0.01, BOUNDS).sigma
        except CalibrationFailed as error:
            return curve.asked, str(error)

    first, second = run(), run()
    assert first == second
    assert len(first[0]) <= MOST
    assert all(BOUNDS[0] <= sigma <= BOUNDS[1] for sigma in first[0])


def test_levels_are_multiples_to_four_digits() -> None:
    assert levels(0.0012345678, (0.5, 1, 2)) == (0.0006173, 0.001235, 0.002469)
    assert round_sigma(0.12345678) == 0.1235


def test_the_median_is_one_of_the_values() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([1.0, math.inf]) == 1.0
    assert median([math.inf, math.inf, 0.1]) == math.inf


Population = st.lists(st.tuples(st.floats(1e-4, 10), st.sampled_from([0.01, 0.02])), min_size=1, max_size=40)


@given(Population, st.floats(1.01, 20))
def test_outliers_are_far_above_their_levels_median(
    rows: Sequence[tuple[float, float]], factor: float
) -> None:
    kls, sigmas = zip(*rows, strict=True)
    dropped = set(outliers(kls, sigmas, factor))
    for level in set(sigmas):
        members = [index for index, sigma in enumerate(sigmas) if sigma == level]
        kept = [kls[index] for index in members if index not in dropped]
        assert len(kept) >= len(members) / 2
        middle = sorted(kls[index] for index in members)[(len(members) - 1) // 2]
        assert max(kept) <= factor * middle
        assert all(kls[index] > factor * middle for index in dropped & set(members))


def test_a_broken_model_is_an_outlier_whatever_its_level() -> None:
    assert outliers([math.inf, math.inf, 0.1], [1.0, 1.0, 2.0], 4) == [0, 1]
    assert outliers([0.1, 0.5, 0.1, 0.1], [1.0] * 4, 4) == [1]
    assert outliers([0.1, 0.5, 0.1, 0.1], [1.0, 2.0, 1.0, 1.0], 4) == []
