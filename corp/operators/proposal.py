"""What an operator hands to the line search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from corp.errors import NoSignal
from corp.operators.scores import PopulationScores, Vector
from corp.operators.settings import OperatorSettings
from population.direction import Component, Direction

Evaluate = Callable[[Sequence[Direction]], Vector]
"""Mean reward on the select split of the centre moved along each direction, shape (len(directions),)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One direction worth stepping along.

    Attributes:
        name: the operator's name.
        direction: from the centre, of unit length, step 1.
        norm: the unit of its steps: a step of scale s has length s * norm.
        scales: the steps to try.
        why: what it was made of and how it came out, JSON-like.
        must_beat_base: whether a step counts only where it does better on select than the centre.
    """

    name: str
    direction: Direction
    norm: float
    scales: tuple[float, ...]
    why: Mapping[str, object]
    must_beat_base: bool = True


class Operator(Protocol):
    """Turns a scored population into directions."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        """The distinct directions that the settings' grid leads to.

        Raises:
            NoSignal: nothing in the scores to go by.
            OperatorInvalid: scores that this operator cannot work with.
        """
        ...


class AdaptiveOperator(Protocol):
    """Finds directions by trying some on the select split."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    def search(
        self, scores: PopulationScores, settings: OperatorSettings, evaluate: Evaluate
    ) -> list[Proposal]:
        """As `Operator.propose`. Which directions are tried depends only on the arguments and the answers."""
        ...


def unit(amplitudes: Vector, scores: PopulationScores) -> Direction:
    """The unit vector along `amplitudes`, shape (S,), one per seed; zeros are left out.

    Raises:
        NoSignal: all are zero.
    """
    length = float(np.linalg.norm(amplitudes))
    if not length:
        raise NoSignal("the weighted members cancel out", hint="sample a population with more seeds")
    pairs = zip(scores.seeds, (amplitudes / length).tolist(), strict=True)
    components = tuple(Component(seed, amplitude) for seed, amplitude in pairs if amplitude)
    return Direction(components, scores.law)
