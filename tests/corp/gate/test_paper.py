"""The released rule, and what it accepts when nothing has changed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, ttest_1samp

from corp.errors import GateInvalid
from corp.gate import paper
from tests.corp.gate.test_decision import outcomes


def test_accepts_where_the_mean_exceeds_its_standard_error() -> None:
    """scipy's t statistic of the differences is mean / se."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        base, candidate = rng.random((2, 12))
        assert paper.decide(base, candidate).accepted == (ttest_1samp(candidate - base, 0).statistic > 1)


@pytest.mark.parametrize("discordance", [0.1, 0.2])
def test_one_candidate_in_six_that_is_no_better_is_accepted(discordance: float) -> None:
    """Exact: every number of discordant pairs and every split of them."""
    n, rate = 100, 0.0
    for pairs in range(1, 60):
        fixes = np.arange(pairs + 1)
        accepted = [
            paper.decide(*(o.astype(float) for o in outcomes(x, pairs - x, n))).accepted for x in fixes
        ]
        rate += binom.pmf(pairs, n, discordance) * binom.pmf(fixes, pairs, 0.5)[accepted].sum()
    assert 0.1 < rate < 0.2


def test_no_difference_and_only_gains_are_decided_without_a_spread() -> None:
    same = np.ones(5)
    assert not paper.decide(same, same).accepted
    assert paper.decide(same, same).p_value == 1
    assert paper.decide(np.zeros(5), same).accepted


def test_fewer_than_two_prompts_are_refused() -> None:
    with pytest.raises(GateInvalid):
        paper.decide(np.ones(1), np.ones(1))
