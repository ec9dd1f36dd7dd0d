"""Where a search that moves its centre stands, what counts as a gain, and when it ends."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from corp.operators.cloud import Vector
from population.direction import Direction
from population.local import Axes
from population.proposal import BASE, Candidate


def shares(size: int, rounds: int) -> tuple[int, ...]:
    """A budget of ``size`` candidates split over rounds, the larger shares first."""
    each, extra = divmod(size, rounds)
    return tuple(each + (number < extra) for number in range(rounds))


def halves(n: int, seed: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The indices below ``n`` split at random, each half ascending; the first is the smaller one.

    Ordered by BLAKE2b of seed and index, so that no library's generator matters.
    """
    order = sorted(range(n), key=lambda i: hashlib.blake2b(f"halves\0{seed}\0{i}".encode()).digest())
    return np.sort(np.array(order[: n // 2], np.intp)), np.sort(np.array(order[n // 2 :], np.intp))


@dataclass(frozen=True, slots=True)
class Gain:
    """A paired mean gain: its standard error, and the bound z standard errors below it."""

    n: int
    mean: float
    error: float
    lower: float

    def to_json(self) -> dict[str, Any]:
        error, lower = (value if math.isfinite(value) else None for value in (self.error, self.lower))
        return {"n": self.n, "gain": self.mean, "standard_error": error, "lower_bound": lower}


def gain(before: Vector, after: Vector, z: float) -> Gain:
    """Gain on the prompts that both were judged on.

    Args:
        before, after: values per prompt, NaN where the verdict is invalid, shape (M,).
        z: standard errors; 0 asks for a better mean only.
    """
    difference = (after - before)[~np.isnan(after - before)]
    n = len(difference)
    if n < 2:
        return Gain(n, float(difference.sum()), math.inf, -math.inf)
    mean, error = float(difference.mean()), float(difference.std(ddof=1) / math.sqrt(n))
    return Gain(n, mean, error, mean - z * error)


@dataclass(frozen=True, slots=True)
class Limits:
    """When to end: after so many rounds, accepted steps (None: any), or rejections in a row."""

    rounds: int
    acceptances: int | None
    patience: int


@dataclass(frozen=True, slots=True)
class State:
    """Where recentering stands between two rounds; all that the next one needs.

    Attributes:
        centre: the base moved by every accepted step.
        sigma: RMS of the next local population.
        iota: its isotropic share.
        length: the step that the next proposals are tried around.
        axes: what the next local population leans towards; None where no candidate helped.
        round: rounds finished.
        accepted: steps accepted in them.
        rejected: rejections in a row.
        since: the first population sampled around this centre: 0 is the search, n that of round n.
    """

    centre: Candidate
    sigma: float
    iota: float
    length: float
    axes: Axes | None = None
    round: int = 0
    accepted: int = 0
    rejected: int = 0
    since: int = 0

    def accept(self, centre: Candidate, length: float) -> State:
        """The state after a round that moved the centre by a step of ``length``."""
        done = self.round + 1
        return replace(
            self,
            centre=centre,
            length=length,
            round=done,
            accepted=self.accepted + 1,
            rejected=0,
            since=done + 1,
        )

    def reject(self, shrink: float = 1.0) -> State:
        """The state after a round that did not; the next population is smaller by ``shrink``."""
        return replace(self, sigma=self.sigma * shrink, round=self.round + 1, rejected=self.rejected + 1)

    def ended(self, limits: Limits) -> str | None:
        """Why there is no further round, None while there is one."""
        if self.round >= limits.rounds:
            return "every round was used"
        if limits.acceptances is not None and self.accepted >= limits.acceptances:
            return f"{self.accepted} steps were accepted"
        if self.rejected >= limits.patience:
            return f"{self.rejected} rounds in a row brought nothing"
        return None

    def to_json(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__slots__}
        return plain | {
            "centre": candidate_to_json(self.centre),
            "axes": self.axes.to_json() if self.axes else None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> State:
        axes = Axes.from_json(data["axes"]) if data["axes"] else None
        return cls(**{**data, "centre": candidate_from_json(data["centre"]), "axes": axes})


def candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    direction = candidate.direction
    return {
        "key": candidate.key,
        "sigma": candidate.sigma,
        "direction": direction.to_json() if direction else None,
    }


def candidate_from_json(data: Mapping[str, Any]) -> Candidate:
    if data["direction"] is None:
        return BASE
    return Candidate(data["key"], Direction.from_json(data["direction"]), data["sigma"])
