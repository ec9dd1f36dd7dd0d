"""The steps that are tried along proposed directions, and which of them goes on to the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corp.operators.proposal import Proposal
from corp.operators.scores import Vector
from population.direction import Direction
from population.proposal import Candidate, moved


@dataclass(frozen=True, slots=True)
class Point:
    """One step along one proposed direction.

    Attributes:
        proposal: index of the proposal.
        scale: the step in units of the proposal's norm.
        candidate: the centre moved by that step.
    """

    proposal: int
    scale: float
    candidate: Candidate


def line(proposals: Sequence[Proposal], centre: Direction | None = None) -> list[Point]:
    """Every scale of every proposal, in order; two that lead to the same weights are one."""
    points: dict[str, Point] = {}
    for index, proposal in enumerate(proposals):
        for scale in proposal.scales:
            direction = moved(centre, proposal.direction * (scale * proposal.norm))
            key = f"{proposal.name}-{direction.digest()[:12]}@{scale:g}"
            candidate = Candidate(key, direction, scale * proposal.norm)
            points.setdefault(direction.digest(), Point(index, scale, candidate))
    return list(points.values())


def choose(points: Sequence[Point], rewards: Vector) -> int:
    """Best reward on select; of equals the shortest step, which stays nearest to the centre."""
    return ranked(points, rewards)[0]


def ranked(points: Sequence[Point], rewards: Vector) -> list[int]:
    """Indices of the points, best on select first, of equals the shortest step, then the first."""
    return sorted(range(len(points)), key=lambda i: (-rewards[i], points[i].candidate.sigma, i))


def finalists(
    points: Sequence[Point], rewards: Vector, base: float, most: int, proposals: Sequence[Proposal]
) -> list[dict[str, Any]]:
    """What is registered for the gate before it is touched, best first: points that beat the base.

    At most one point per direction, so that several finalists are several ideas and not one step tried
    twice. A proposal that need not beat the base goes on all the same, as its source has it.
    """
    found: dict[int, dict[str, Any]] = {}
    for index in ranked(points, rewards):
        point = points[index]
        passes = rewards[index] > base or not proposals[point.proposal].must_beat_base
        if passes and len(found) < most:
            found.setdefault(point.proposal, describe_point(point, float(rewards[index])))
    return list(found.values())


def describe_point(point: Point, reward: float) -> dict[str, Any]:
    direction = point.candidate.direction
    assert direction is not None
    return {
        "key": point.candidate.key,
        "proposal": point.proposal,
        "scale": point.scale,
        "sigma": point.candidate.sigma,
        "select": reward,
        "direction": direction.to_json(),
    }
