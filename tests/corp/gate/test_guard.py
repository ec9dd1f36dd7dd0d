"""Non-inferiority: error rates by enumeration, and the sizes it needs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multinomial

from corp.errors import GuardInvalid
from corp.gate.guard import check, needed, require
from corp.gate.paired import tango
from tests.corp.gate.test_decision import outcomes


def held(fixes: int, regressions: int, n: int, margin: float, level: float = 0.05) -> bool:
    return check("guard", *outcomes(fixes, regressions, n), margin=margin, level=level).held


@pytest.mark.parametrize(("fix", "regression"), [(0.0, 0.05), (0.05, 0.1), (0.15, 0.2)])
def test_a_fall_by_the_margin_is_overlooked_at_half_the_level(fix: float, regression: float) -> None:
    """Exact at n = 150: every table weighed by its probability. A score interval is approximate."""
    n, margin = 150, 0.05
    tables = [(x, y) for x in range(46) for y in range(61)]
    chances = multinomial.pmf(
        [(x, y, n - x - y) for x, y in tables], n, [fix, regression, 1 - fix - regression]
    )
    passed = np.array([held(x, y, n, margin) for x, y in tables])
    assert chances.sum() > 0.9999
    assert 0.005 < chances[passed].sum() < 0.035


def test_a_model_that_got_better_passes_and_one_that_got_much_worse_does_not() -> None:
    assert held(40, 20, 300, 0.01)
    assert not held(20, 40, 300, 0.01)


def test_what_was_found_is_told_with_its_numbers() -> None:
    found = check("copying", *outcomes(3, 9, 200), margin=0.1, level=0.02)
    assert (found.task, found.n, found.fixes, found.regressions) == ("copying", 200, 3, 9)
    assert found.change == pytest.approx(-0.03)
    assert found.change == pytest.approx(found.candidate - found.base)
    assert found.bound == tango(3, 9, 200, 0.02)[0]
    assert found.held == (found.bound > -0.1)


@pytest.mark.parametrize(("margin", "level"), [(0.01, 0.05), (0.05, 0.05), (0.02, 0.01), (0.3, 0.05)])
def test_needed_is_the_first_size_at_which_an_unchanged_model_passes(margin: float, level: float) -> None:
    least = needed(margin, level)
    assert held(0, 0, least, margin, level)
    assert not held(0, 0, least - 1, margin, level)


def test_a_guard_that_nothing_could_pass_is_refused() -> None:
    require("copying", 381, 0.01, 0.05)
    with pytest.raises(GuardInvalid, match=r"copying has 380 gate prompts.*at most 1 points.*needs 381"):
        require("copying", 380, 0.01, 0.05)
