"""Reliability, overall and within the sigmas."""

from __future__ import annotations

import numpy as np
import pytest

from corp.diagnostics.reliability import reliabilities
from tests.corp.operators.populations import population, verdicts


def spearman_brown(values: np.ndarray, rng: np.random.Generator) -> float:
    """Split-half correlation stepped up to full length, over random halves of the prompts."""
    found = []
    for _ in range(200):
        order = rng.permutation(values.shape[1])
        left, right = order[::2], order[1::2]
        r = np.corrcoef(values[:, left].mean(axis=1), values[:, right].mean(axis=1))[0, 1]
        found.append(2 * r / (1 + r))
    return float(np.mean(found))


def test_each_sigma_has_its_own_split_half_reliability() -> None:
    values = verdicts(300, 80, spread=0.6)
    found = reliabilities(population(values, sigmas=(0.01, 0.02)))
    assert [level.n for level in found.levels] == [150, 150]
    for level, members in zip(found.levels, (values[0::2], values[1::2]), strict=True):
        assert level.mean == pytest.approx(members.mean())
        assert level.best == members.mean(axis=1).max()
        assert level.reliability == pytest.approx(spearman_brown(members, np.random.default_rng(0)), abs=0.03)
    assert found.within == pytest.approx(np.mean([level.reliability for level in found.levels]))


def test_levels_that_differ_in_their_mean_only_are_reliable_overall_but_not_within() -> None:
    rng = np.random.default_rng(1)
    chance = np.resize([0.2, 0.8], 200)
    values = (rng.random((200, 100)) < chance[:, None]).astype(float)
    found = reliabilities(population(values, sigmas=(0.01, 0.02)))
    assert found.overall > 0.95
    assert found.within < 0.4
