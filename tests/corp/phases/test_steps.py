"""When a step moves the centre, on values that a test says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from corp.phases.steps import Step, try_step
from corp.recentering import Gain
from corp.spec import GateSpec, RecenterSpec
from population.direction import Component, Direction, Law
from population.proposal import BASE, Candidate
from population.table import Table

FOUND = Candidate("found", Direction((Component(1, 0.5),), Law()), 0.5)


def tried(values: Mapping[str, Sequence[float]], **settings: Any) -> Step:
    def score(phase: str, split: str, candidates: Sequence[Candidate]) -> Table:
        assert split == "select"
        keys = tuple(one.key for one in candidates)
        rows = np.array([values[key] for key in keys])
        return Table(keys, np.zeros(len(keys)), rows, np.ones(rows.shape, np.bool_), rows == 1)

    spec = SimpleNamespace(recenter=RecenterSpec(mode="rounds", **settings), gate=GateSpec())
    run = SimpleNamespace(score=score, prepared=SimpleNamespace(spec=spec))
    return try_step(cast(Any, run), 1, "recenter-1", BASE, FOUND, 0.5)


def test_a_better_mean_does_not_count_where_fewer_prompts_pass() -> None:
    """Graded values: four prompts come close and one that passed fails."""
    before, after = [1.0] * 10 + [0.0] * 10, [1.0] * 9 + [0.9] + [0.8] * 10
    step = tried({"base": before, "found": after})
    assert step.gain.lower > 0
    assert not step.accepted
    assert step.reason.endswith("but 1 fewer prompts pass")
    assert tried({"base": before, "found": [1.0] * 10 + [0.8] * 10}).accepted


def test_a_value_above_every_mark_is_no_pass() -> None:
    """The prompt that passed gets a larger value without success, and nine others get more."""
    before, after = [1.0] + [0.0] * 19, [1.1] + [0.5] * 9 + [0.0] * 10
    step = tried({"base": before, "found": after})
    assert step.gain.lower > 0
    assert step.reason.endswith("but 1 fewer prompts pass")


@pytest.mark.parametrize(("z", "accepted"), [(0, True), (1, True), (2, False)])
def test_the_gain_has_to_exceed_z_standard_errors(z: float, accepted: bool) -> None:
    """Five fixes and one regression of 30: gain 0.133, standard error 0.0793 with n - 1 = 29 degrees."""
    before, after = [1.0] * 10 + [0.0] * 20, [0.0] + [1.0] * 14 + [0.0] * 15
    step = tried({"base": before, "found": after}, z=z)
    error = np.sqrt((6 / 30 - (4 / 30) ** 2) / 29)
    assert step.gain == Gain(
        30, pytest.approx(4 / 30), pytest.approx(error), pytest.approx(4 / 30 - z * error)
    )
    assert step.accepted == accepted


def test_the_pulled_centre_is_what_has_to_win() -> None:
    """The sum is better and what the anchor leaves of it is not."""
    good, base = [1.0] * 20, [0.0] * 20
    assert not tried({"base": base, "found": good, "r1-anchored": base}, anchor=0.5).accepted
    assert tried({"base": base, "found": base, "r1-anchored": good}, anchor=0.5).accepted
