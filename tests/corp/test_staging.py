"""Candidates get their weights from shared sums, in as few passes over the noise as the disk allows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from corp.phases import staging
from corp.phases.staging import Stage
from population.direction import Component, Direction, Law
from population.proposal import BASE, Candidate


def candidates() -> list[Candidate]:
    """Five directions at two steps each."""
    lines = [Direction((Component(seed, 1.0),), Law()) for seed in range(5)]
    return [Candidate(f"{d}@{step}", line * step, step) for d, line in enumerate(lines) for step in (1, 2)]


def test_steps_along_one_direction_share_a_sum_and_a_small_disk_makes_groups(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    built: list[list[Direction]] = []

    def build(model: object, directions: list[Direction], *_: object, **__: object) -> Any:
        built.append(directions)
        return SimpleNamespace(directions=directions, noise_values=1, close=lambda: None)

    def set_staged(sums: Any, d: int, step: float) -> Direction:
        return cast(Direction, sums.directions[d] * step)

    prepared = SimpleNamespace(
        perturbed=lambda: 1, checkpoint=None, spec=SimpleNamespace(engine=SimpleNamespace(threads=1))
    )
    engine = SimpleNamespace(set_staged=set_staged, set_weights=lambda direction: direction)
    run = cast(Any, SimpleNamespace(prepared=prepared, target=tmp_path, engine=engine))
    room = SimpleNamespace(free=staging.MARGIN + 2 * 4)  # two directions of one weight
    monkeypatch.setattr(staging.shutil, "disk_usage", lambda path: room)
    monkeypatch.setattr("population.sweep.SweepSums.build", build)
    points = [BASE, *candidates()]
    with Stage(run, points) as stage:
        found: list[Any] = [stage.switch(cast(Any, engine), point) for point in points]
    assert found == [point.direction for point in points]
    assert [len(group) for group in built] == [2, 2, 1]
    assert stage.passes == stage.noise_values == 3
