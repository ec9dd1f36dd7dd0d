"""What an operator hands to the line search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from corp.errors import NoSignal, OperatorInvalid
from corp.operators.weights import Numbers
from population.direction import Component, Direction
from population.proposal import Candidate


@dataclass(frozen=True, slots=True)
class Proposal:
    """One direction worth stepping along.

    Attributes:
        name: the operator's name.
        direction: of unit length, step 1.
        norm: length of the operator's mean; a step of scale s has length s * norm.
        why: what it was made of and how it came out, JSON-like.
    """

    name: str
    direction: Direction
    norm: float
    why: Mapping[str, object]


class Operator(Protocol):
    """Turns a scored population into directions."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    def propose(
        self, rewards: Numbers, candidates: Sequence[Candidate], q: Sequence[float], beta: Sequence[float]
    ) -> list[Proposal]:
        """The distinct directions of the grid q x beta.

        Args:
            rewards: mean reward of each candidate, shape (N,).
            candidates: the population, each a single seed with sigma > 0; not the base.
            q: elite quantiles, each in [0, 1).
            beta: inverse temperatures, each > 0.

        Raises:
            NoSignal: every reward is the same.
            OperatorInvalid: rewards or candidates that cannot be consolidated.
        """
        ...


def components(rewards: Numbers, candidates: Sequence[Candidate]) -> list[Component]:
    """Seed and amplitude of each candidate, in order, after checking that there is something to consolidate.

    Raises:
        NoSignal, OperatorInvalid: as `Operator.propose`.
    """
    if len(rewards) != len(candidates):
        raise OperatorInvalid(f"{len(rewards)} rewards for {len(candidates)} candidates")
    members = [_component(candidate) for candidate in candidates]
    if len({candidate.direction.law for candidate in candidates if candidate.direction}) > 1:
        raise OperatorInvalid(
            "the candidates are perturbed by different laws", hint="consolidate one law at a time"
        )
    if len(members) > 1 and np.ptp(np.asarray(rewards, np.float64)) == 0:
        raise NoSignal(
            f"all {len(members)} candidates have the same reward, {rewards[0]:g}",
            hint="use a larger sigma, more prompts or a task that the model gets right only sometimes",
        )
    return members


def unit(members: Sequence[Component], like: Candidate) -> Direction:
    """The direction of these components, equal seeds summed, under the law of `like`."""
    assert like.direction is not None
    amplitudes: dict[int, float] = {}
    for member in members:
        amplitudes[member.seed] = amplitudes.get(member.seed, 0.0) + member.amplitude
    return Direction(tuple(Component(*item) for item in amplitudes.items()), like.direction.law)


def _component(candidate: Candidate) -> Component:
    direction = candidate.direction
    if direction is None or len(direction.components) != 1:
        raise OperatorInvalid(
            f"candidate {candidate.key} is not a single perturbation",
            hint="leave out the base and merged directions",
        )
    ((seed, amplitude),) = direction.coefficients().items()
    return Component(seed, amplitude)
