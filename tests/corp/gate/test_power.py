"""Power against enumeration of every table, and what is said about it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multinomial

from corp.errors import GateInvalid
from corp.gate.decision import decide
from corp.gate.power import acceptance, detectable_gain, warning
from tests.corp.gate.test_decision import grid, outcomes


@pytest.mark.parametrize(("discordance", "gain"), [(0.2, 0.15), (0.3, 0.0), (0.3, -0.1), (1.0, 0.4)])
@pytest.mark.parametrize("looks", [1, 5])
def test_acceptance_is_the_chance_of_every_table_that_is_accepted(
    discordance: float, gain: float, looks: int
) -> None:
    n = 40
    tables = list(grid(n))
    cells = [(discordance + gain) / 2, (discordance - gain) / 2, 1 - discordance]
    chances = multinomial.pmf([(x, y, n - x - y) for x, y in tables], n, cells)
    accepted = np.array([decide(*outcomes(x, y, n), looks=looks).accepted for x, y in tables])
    assert acceptance(n, discordance, gain, level=0.05 / looks) == pytest.approx(
        chances[accepted].sum(), abs=1e-9
    )


def test_power_grows_with_prompts_and_gain_and_falls_with_proposals() -> None:
    base = acceptance(200, 0.2, 0.08)
    assert acceptance(400, 0.2, 0.08) > base
    assert acceptance(200, 0.2, 0.12) > base
    assert acceptance(200, 0.2, 0.08, level=0.01) < base


def test_a_gate_of_a_million_prompts_is_answered_too() -> None:
    gain = detectable_gain(1_000_000, 0.2)
    assert gain == pytest.approx(2.80 * np.sqrt(0.2 / 1e6), rel=0.02)  # z for 5 % two-sided plus z for 80 %


@pytest.mark.parametrize(
    "arguments", [(0, 0.2, 0.1), (10, 0.0, 0.0), (10, 1.2, 0.1), (10, 0.2, 0.3), (10, 0.2, float("nan"))]
)
def test_impossible_effects_have_no_power(arguments: tuple[int, float, float]) -> None:
    with pytest.raises(GateInvalid):
        acceptance(*arguments)


def test_small_gates_are_warned_of_and_large_ones_are_not() -> None:
    assert "cannot show a gain below 20 points" in str(warning(30, 0.05))
    assert "more than most searches bring" in str(warning(80, 0.01))
    assert warning(256, 0.05) is None
    assert "of which only 5.0 are left" in str(warning(256, 0.05, headroom=0.05))
