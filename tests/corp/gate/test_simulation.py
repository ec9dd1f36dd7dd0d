"""Thousands of whole searches with the product's operators, line search and gate, but without a model."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from scipy.special import ndtr

from corp.gate import resampling
from corp.gate.family import judge
from corp.gate.paired import tango
from corp.gate.power import acceptance
from corp.operators import OperatorSettings
from tests.corp.gate.searches import GATE, Search, cells

SEARCHES = 1000
SMALL = OperatorSettings(q=(0.5,), beta=(10,), scales=(2.0,), radii=(1.0,))
GRID = OperatorSettings(q=(0.5, 0.7), beta=(2, 20), scales=(1, 2, 4), radii=(0.5, 1, 2))

NULL = {
    "one operator, one scale": Search(["reward_mean"], SMALL),
    "twelve steps": Search(["corp"], GRID),
    "seven operators, five proposals": Search(
        ["corp", "reward_mean", "elite_mean", "top1", "random_mean", "es", "response"], SMALL, proposals=5
    ),
    "three operators by three scales, three rounds": Search(
        ["corp", "es", "response"], GRID.model_copy(update={"q": (0.5,), "beta": (10,)}), rounds=3
    ),
    "five proposals in each of two rounds": Search(
        ["corp", "reward_mean", "top1", "es", "response"], SMALL, proposals=5, rounds=2
    ),
}


def rate(search: Search, searches: int = SEARCHES) -> float:
    return float(np.mean([search.accepts(seed) for seed in range(searches)]))


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval of the same counts need not be bisected in every search again."""
    monkeypatch.setattr("corp.gate.decision.tango", lru_cache(None)(tango))


KINDS = [
    pytest.param("one operator, one scale", 1000, 25),
    pytest.param("twelve steps", 1000, 25),
    pytest.param("seven operators, five proposals", 1000, 50),
    pytest.param("three operators by three scales, three rounds", 500, 50),
    *(pytest.param(name, 1000, 1, marks=pytest.mark.slow) for name in NULL),
]
"""Searches, and how many of them share a scored population, each with its own select and gate prompts."""


@pytest.mark.parametrize(("name", "searches", "splits"), KINDS)
def test_a_search_that_found_nothing_is_accepted_at_most_at_rate_alpha(
    name: str, searches: int, splits: int
) -> None:
    search = replace(NULL[name], splits=splits, seen=[])
    found = rate(search, searches)
    looks = len(search.seen) / searches
    print(f"{name}: strict accepts {found:.3f} of {searches} searches without any effect, {looks:.2f} looks")
    bound = NULL[name].alpha / 2  # tests are two-sided and accept on one side
    assert found <= bound + 3 * np.sqrt(bound * (1 - bound) / searches)


def test_the_papers_rule_accepts_many_searches_that_found_nothing() -> None:
    for name in ("twelve steps", "seven operators, five proposals"):
        lax = replace(NULL[name], policy="paper", splits=25, seen=[])
        found = rate(lax, 500)
        print(f"{name}: paper accepts {found:.3f}, strict at most {lax.alpha}")
        assert found > lax.alpha


@pytest.mark.parametrize(("strength", "gate"), [(1.0, GATE), (1.5, 300)])
def test_a_planted_effect_is_found_as_often_as_announced(strength: float, gate: int) -> None:
    """Announced: for the true discordance and gain of what the search brings to the gate."""
    search = Search(["es", "corp"], SMALL, strength=strength, gate=gate, splits=5)
    found = rate(search)
    announced = sum(power(shift, gate, search.alpha) for shift in search.seen) / SEARCHES
    print(f"strength {strength}, {gate} prompts: announced {announced:.3f}, accepted {found:.3f}")
    assert 0.1 < announced < 0.98
    assert found == pytest.approx(announced, abs=0.05)


def test_power_announced_for_five_proposals_is_that_of_a_real_one_among_four_that_are_none() -> None:
    n, fix, regression, draws = 300, 0.12, 0.04, 800
    announced = acceptance(n, fix + regression, fix - regression, level=0.05 / 5)
    rng = np.random.default_rng(0)
    base = np.zeros(n)
    base[: n // 2] = 1
    flips = np.where(
        base == 1, 2 * regression, 2 * fix
    )  # half of the prompts can only regress, half be fixed
    found = 0
    for _ in range(draws):
        real = np.abs(base - (rng.random(n) < flips))
        none = np.abs(base - (rng.random((4, n)) < 0.16))
        found += judge([(base, answer) for answer in (*none, real)])[4].accepted
    print(f"five proposals: announced {announced:.3f}, accepted {found / draws:.3f}")
    assert 0.3 < announced < 0.9
    assert found / draws == pytest.approx(announced, abs=0.05)


def test_graded_rewards_without_any_gain_are_accepted_at_most_at_rate_alpha(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Skewed rewards, three proposals that share the base's luck, far fewer resamples than in a run."""
    monkeypatch.setattr(resampling, "PATTERNS", 999)
    monkeypatch.setattr(resampling, "RESAMPLES", 999)
    rng = np.random.default_rng(0)
    found = 0
    for seed in range(500):
        shared = rng.normal(size=60)
        base, *answers = np.round(4 * ndtr(shared + 0.6 * rng.normal(size=(4, 60)) - 1)) / 4
        decisions = judge([(base, answer) for answer in answers], metric="value", seed=seed)
        found += any(decision.accepted for decision in decisions)
    print(f"graded: strict accepts {found / 500:.3f}")
    assert found / 500 <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / 500)


@lru_cache(None)
def power(shift: float, n: int, level: float) -> float:
    fix, regression = cells(shift)
    return acceptance(n, fix + regression, fix - regression, level=level)
