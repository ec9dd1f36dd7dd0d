"""Which point of the line search is taken, and when none is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from corp.operators import Proposal
from corp.phases import consolidate
from corp.phases.consolidate import Stage, choose, line, verdict
from population.direction import Component, Direction, Law

PROPOSALS = [Proposal("corp", Direction((Component(seed, 1.0),), Law()), 0.1, {}) for seed in range(5)]


def test_of_equal_rewards_the_shortest_step_is_taken_and_of_equal_steps_the_first() -> None:
    points = line(PROPOSALS[:2], [2, 1, 0.5])
    assert [point.candidate.sigma for point in points] == pytest.approx([0.2, 0.1, 0.05] * 2)
    assert choose(points, np.array([0.5, 0.5, 0.25, 0.5, 0.5, 0.25])) == 1
    assert choose(points, np.array([0.5, 0.5, 0.25, 0.75, 0.5, 0.25])) == 3


def test_a_point_has_to_beat_the_base() -> None:
    point = line(PROPOSALS[:1], [1])[0]
    for reward in (0.4, 0.5):
        assert verdict(point, reward, 0.5)["chosen"] is None
    assert verdict(point, 0.51, 0.5)["chosen"] is not None


def test_a_small_disk_stages_directions_in_groups_and_finds_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    built: list[list[Direction]] = []

    def build(model: object, directions: list[Direction], *_: object, **__: object) -> Any:
        built.append(directions)
        return SimpleNamespace(directions=directions, noise_values=1, close=lambda: None)

    def set_staged(sums: Any, d: int, step: float) -> Direction:
        return cast(Direction, sums.directions[d])

    prepared = SimpleNamespace(
        perturbed=lambda: 1, checkpoint=None, spec=SimpleNamespace(engine=SimpleNamespace(threads=1))
    )
    engine = SimpleNamespace(set_staged=set_staged, set_weights=lambda direction: direction)
    run = cast(Any, SimpleNamespace(prepared=prepared, target=tmp_path, engine=engine))
    room = SimpleNamespace(free=consolidate.MARGIN + 2 * 4)  # two directions of one weight
    monkeypatch.setattr(consolidate.shutil, "disk_usage", lambda path: room)
    monkeypatch.setattr("population.sweep.SweepSums.build", build)
    points = line(PROPOSALS, [1, 2])
    stage = Stage(run, PROPOSALS, {point.candidate.key: point.proposal for point in points})
    found: list[Any] = [stage.switch(cast(Any, engine), point.candidate) for point in points]
    assert found == [PROPOSALS[point.proposal].direction for point in points]
    assert [len(group) for group in built] == [2, 2, 1]
    assert stage.passes == 3
