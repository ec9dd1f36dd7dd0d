"""Which points are tried, which is taken, and when none is."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from corp.linesearch import choose, finalists, line
from corp.operators import Proposal
from population.direction import Component, Direction, Law
from population.proposal import moved


def proposal(seed: int, scales: tuple[float, ...], norm: float = 0.1) -> Proposal:
    return Proposal("corp", Direction((Component(seed, 1.0),), Law()), norm, scales, {})


def test_of_equal_rewards_the_shortest_step_is_taken_and_of_equal_steps_the_first() -> None:
    points = line([proposal(0, (2, 1, 0.5)), proposal(1, (2, 1, 0.5))])
    assert [point.candidate.sigma for point in points] == pytest.approx([0.2, 0.1, 0.05] * 2)
    assert choose(points, np.array([0.5, 0.5, 0.25, 0.5, 0.5, 0.25])) == 1
    assert choose(points, np.array([0.5, 0.5, 0.25, 0.75, 0.5, 0.25])) == 3


def test_the_same_weights_are_tried_once() -> None:
    assert len(line([proposal(0, (1, 2)), proposal(0, (2, 4))])) == 3


def test_steps_around_a_centre_are_added_to_it() -> None:
    centre = Direction((Component(7, 0.02), Component(0, 0.01)), Law())
    (point,) = line([proposal(0, (2,))], centre)
    assert point.candidate.direction is not None
    assert point.candidate.direction.coefficients() == pytest.approx({7: 0.02, 0: 0.21})
    assert point.candidate.sigma == pytest.approx(0.2)
    assert moved(None, centre) is centre


def test_finalists_beat_the_base_and_follow_different_directions() -> None:
    proposals = [proposal(0, (1, 2)), proposal(1, (1,)), proposal(2, (1,))]
    points = line(proposals)
    rewards = np.array([0.7, 0.8, 0.6, 0.5])
    found = finalists(points, rewards, 0.5, 5, proposals)
    assert [(entry["proposal"], entry["scale"], entry["select"]) for entry in found] == [
        (0, 2, 0.8),
        (1, 1, 0.6),
    ]
    assert len(finalists(points, rewards, 0.5, 1, proposals)) == 1
    assert finalists(points, rewards, 0.8, 5, proposals) == []
    lenient = [replace(entry, must_beat_base=False) for entry in proposals]
    assert len(finalists(points, rewards, 0.8, 5, lenient)) == 3
    assert json.loads(json.dumps(found)) == found
