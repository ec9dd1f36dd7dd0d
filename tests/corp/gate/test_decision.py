"""The held-out decision against scipy's exact binomial, enumeration and a numerical likelihood."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom, binomtest, multinomial, norm

from corp.errors import GateInvalid
from corp.gate import decide
from corp.gate.paired import mcnemar, tango
from corp.gate.power import detectable_gain


def outcomes(fixes: int, regressions: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Paired outcomes with these discordant pairs, the rest half right and half wrong under both."""
    base = np.arange(n) % 2 == 0
    candidate = base.copy()
    base[:fixes], candidate[:fixes] = False, True
    lost = slice(fixes, fixes + regressions)
    base[lost], candidate[lost] = True, False
    return base, candidate


def grid(n: int):
    return ((x, y) for x in range(n + 1) for y in range(n + 1 - x))


def test_p_value_is_the_exact_binomial_over_the_whole_grid():
    for fixes, regressions in product(range(31), repeat=2):
        pairs = fixes + regressions
        expected = binomtest(fixes, pairs).pvalue if pairs else 1.0
        assert mcnemar(fixes, regressions) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("fixes", "regressions"), [(1000, 900), (3000, 3000), (5100, 4900), (600, 0)])
def test_p_value_holds_for_thousands_of_pairs(fixes, regressions):
    expected = binomtest(fixes, fixes + regressions).pvalue
    assert mcnemar(fixes, regressions) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("looks", [1, 3])
def test_decision_follows_the_test_and_counts(looks):
    n = 30
    for fixes, regressions in grid(n):
        decision = decide(*outcomes(fixes, regressions, n), looks=looks)
        pairs = fixes + regressions
        p_value = binomtest(fixes, pairs).pvalue if pairs else 1.0
        assert decision.accepted == (fixes > regressions and p_value <= 0.05 / looks)
        assert decision.p_value == pytest.approx(p_value)
        assert decision.level == 0.05 / looks
        assert (decision.fixes, decision.regressions, decision.n) == (fixes, regressions, n)
        assert decision.gain == pytest.approx(decision.candidate - decision.base)


@pytest.mark.parametrize(("n", "looks"), [(30, 1), (30, 1000), (100, 1), (100, 126), (256, 1)])
def test_interval_leaves_out_zero_exactly_where_the_test_rejects(n, looks):
    step = 1 if n < 100 else 5
    for fixes, regressions in ((x, y) for x, y in grid(n) if (x + 3 * y) % step == 0):
        decision = decide(*outcomes(fixes, regressions, n), looks=looks)
        low, high = decision.interval
        assert -1 <= low <= decision.gain <= high <= 1
        assert (low > 0 or high < 0) == (decision.p_value <= decision.level)
        assert (low > 0) == decision.accepted


def likelihood_score(x: int, y: int, n: int, difference: float) -> float:
    """Tango's statistic with P(regression) found by a numerical search, not by his quadratic."""

    def negative(regression):
        parts = ((x, regression + difference), (y, regression), (n - x - y, 1 - 2 * regression - difference))
        return -sum(count * math.log(max(p, 1e-300)) for count, p in parts if count)

    low, high = max(0.0, -difference), (1 - difference) / 2
    q = minimize_scalar(negative, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    return (x - y - n * difference) / math.sqrt(n * (2 * q + difference - difference**2))


@pytest.mark.parametrize(("x", "y", "n"), [(20, 10, 100), (9, 1, 44), (3, 3, 30), (1, 0, 50), (40, 37, 256)])
def test_interval_ends_are_where_the_score_test_starts_to_reject(x, y, n):
    low, high = tango(x, y, n, 0.05)
    assert likelihood_score(x, y, n, low) == pytest.approx(1.959964, abs=1e-3)
    assert likelihood_score(x, y, n, high) == pytest.approx(-1.959964, abs=1e-3)


def test_interval_without_discordant_pairs_has_its_closed_form():
    z2 = norm.ppf(0.975) ** 2
    for n in (5, 30, 256):
        assert tango(0, 0, n, 0.05) == pytest.approx((-z2 / (n + z2), z2 / (n + z2)))


def test_interval_covers_the_true_difference():
    """Exact coverage at n = 60: every outcome weighed by its probability. A score interval is approximate."""
    n = 60
    ends = [(x, y, *decide(*outcomes(x, y, n)).interval) for x, y in grid(n)]
    x, y, low, high = np.array(ends).T
    coverage = []
    for fix, regress in ((0.05, 0.05), (0.1, 0.02), (0.02, 0.01), (0.3, 0.1), (0.15, 0.15), (0.5, 0.1)):
        chances = multinomial.pmf(np.stack([x, y, n - x - y], 1), n, [fix, regress, 1 - fix - regress])
        coverage.append(chances[(low <= fix - regress) & (fix - regress <= high)].sum())
    assert min(coverage) >= 0.93
    assert np.mean(coverage) >= 0.95


@pytest.mark.parametrize(("n", "looks", "alpha"), [(30, 1, 0.05), (60, 1, 0.05), (60, 5, 0.05), (60, 1, 0.3)])
def test_no_difference_is_accepted_at_most_at_rate_alpha(n, looks, alpha):
    """Exact: every number of discordant pairs, every split, fixes and regressions equally likely."""
    given_pairs = []
    for pairs in range(n + 1):
        fixes = np.arange(pairs + 1)
        accepted = [decide(*outcomes(x, pairs - x, n), looks=looks, alpha=alpha).accepted for x in fixes]
        given_pairs.append(binom.pmf(fixes, pairs, 0.5)[accepted].sum())
    for discordance in (0.02, 0.1, 0.3, 0.7, 1.0):
        rate = binom.pmf(np.arange(n + 1), n, discordance) @ given_pairs
        assert rate <= alpha / looks / 2


def test_a_large_clean_gain_is_accepted_and_a_lucky_one_is_not():
    assert decide(*outcomes(6, 0, 100)).accepted
    assert not decide(*outcomes(5, 0, 100)).accepted
    # The best of 126 looks has to be much better than that.
    assert not decide(*outcomes(6, 0, 100), looks=126).accepted
    assert decide(*outcomes(14, 0, 100), looks=126).accepted


pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=80)


@given(pairs, st.sampled_from([1, 4, 5000]), st.sampled_from([0.05, 0.2]))
def test_swapping_base_and_candidate_negates_gain_and_interval(rows, looks, alpha):
    base, candidate = zip(*rows, strict=True)
    there = decide(base, candidate, looks=looks, alpha=alpha)
    back = decide(candidate, base, looks=looks, alpha=alpha)
    assert back.gain == -there.gain
    assert back.interval == (-there.interval[1], -there.interval[0])
    assert back.p_value == there.p_value
    assert (back.fixes, back.regressions) == (there.regressions, there.fixes)
    assert not (there.accepted and back.accepted)


@given(pairs)
def test_lists_bools_and_floats_say_the_same(rows):
    base, candidate = (list(column) for column in zip(*rows, strict=True))
    expected = decide(np.array(base), np.array(candidate))
    assert decide(base, candidate) == expected
    assert decide([float(x) for x in base], np.array(candidate, np.float32)) == expected


@pytest.mark.parametrize(
    ("base", "candidate", "options", "match"),
    [
        ([1, 0], [1], {}, "base has 2 prompts, the candidate 1"),
        ([], [], {}, "one outcome per prompt"),
        ([[1], [0]], [[1], [0]], {}, "one outcome per prompt"),
        ([[1], [0, 1]], [1, 0], {}, "one outcome per prompt"),
        ([1, None], [1, 0], {}, "other than 0 and 1"),
        ([1, float("nan")], [1, 0], {}, "other than 0 and 1"),
        ([1, 0], [0.5, 1], {}, "candidate has values other"),
        (["1", "0"], [1, 0], {}, "other than 0 and 1"),
        ([1, 0], [1, 0], {"looks": 0}, "looks = 0"),
        ([1, 0], [1, 0], {"looks": 1.5}, "looks = 1.5"),
        ([1, 0], [1, 0], {"looks": float("nan")}, "looks = nan"),
        ([1, 0], [1, 0], {"alpha": 0.0}, "alpha = 0.0"),
        ([1, 0], [1, 0], {"alpha": 1.0}, "alpha = 1.0"),
        ([1, 0], [1, 0], {"alpha": float("nan")}, "alpha = nan"),
    ],
)
def test_bad_input_is_refused(base, candidate, options, match):
    with pytest.raises(GateInvalid, match=match):
        decide(base, candidate, **options)


@pytest.mark.parametrize(
    ("fixes", "regressions", "opening"),
    [
        (12, 1, "Accepted: "),
        (0, 0, "Abstained, the candidate gets the same prompts right"),
        (2, 2, "Abstained, the candidate is not better"),
        (3, 1, "Abstained, the gain may be luck"),
    ],
)
def test_reason_is_one_sentence_with_the_numbers(fixes, regressions, opening):
    decision = decide(*outcomes(fixes, regressions, 40))
    assert decision.reason.startswith(opening)
    assert f"{round(40 * decision.candidate)} of 40 right" in decision.reason
    assert f"exact McNemar p = {decision.p_value:.2g}" in decision.reason
    assert decision.reason.count(". ") == 0


def test_detectable_gain_is_the_gain_that_is_accepted_as_often_as_promised():
    n, discordance = 200, 0.2
    gain = detectable_gain(n, discordance)
    rng = np.random.default_rng(0)
    cells = [(discordance + gain) / 2, (discordance - gain) / 2, 1 - discordance]
    draws = rng.multinomial(n, cells, size=20_000)
    kinds, counts = np.unique(draws[:, :2], axis=0, return_counts=True)
    accepted = sum(
        c for (x, y), c in zip(kinds, counts, strict=True) if x > y and mcnemar(int(x), int(y)) <= 0.05
    )
    assert accepted / 20_000 == pytest.approx(0.8, abs=0.01)


def test_no_gain_is_detectable_with_too_few_prompts():
    assert detectable_gain(20, 0.05) is None
    assert detectable_gain(500, 0.1) < detectable_gain(200, 0.1)
