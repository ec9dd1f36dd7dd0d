"""How many members a direction really has, and the shape of their cloud."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corp.diagnostics.consensus import SHARPNESS, best_half
from corp.operators.cloud import Cloud, Vector
from corp.operators.reliability import softmax_with_floor
from corp.operators.scores import PopulationScores
from population.direction import Direction

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Indices = npt.NDArray[np.intp]

LARGEST_CLOUD = 512
"""Members whose spectrum is taken, those of the largest weight; 60 ms, and 2 s for 2,000."""

SHOWN = 64
"""Weights and eigenvalues listed at most, largest first."""


@dataclass(frozen=True, slots=True)
class Range:
    """Smallest, median and largest of a number per member."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Member:
    """One candidate of the search; its weight is its signed share of the direction, 0 outside."""

    key: str
    sigma: float
    reward: float
    weight: float


@dataclass(frozen=True, slots=True)
class Concentration:
    """The members of a direction as a weighted cloud, one axis per seed.

    Attributes:
        of: `chosen`, the members that the chosen direction is made of; `elites`, the better half of the
            population, where the direction is not a sum of members.
        members: with a weight other than zero.
        ess: effective sample size of the absolute weights.
        largest_weight: share of the heaviest member.
        kappa: squared length of the mean over the cloud's trace; None where the cloud has no extent.
        cloud: members that alignment, dispersion and spectrum are of: the heaviest 512.
        effective_rank: exp of the entropy of the spectrum.
        alignment: cosines of the members with the mean.
        dispersion: squared lengths orthogonal to the mean, over the squared length.
        spectrum: shares of the cloud's leading eigenvalues, largest first, 64 at most.
        weights: 64 heaviest members at most.
    """

    of: str
    members: int
    ess: float
    largest_weight: float
    kappa: float | None
    cloud: int
    effective_rank: float
    alignment: Range
    dispersion: Range
    spectrum: Sequence[float]
    weights: Sequence[Member]


def concentration(scores: PopulationScores, direction: Direction | None) -> Concentration:
    """The cloud of the chosen direction's members, or of the elites where there is none.

    A member that is taken with a negative sign counts with its mirror image: the mean of the cloud is then
    along the direction.

    Args:
        direction: relative to the centre of the population.
    """
    own = member_weights(scores, direction) if direction is not None else None
    signed = _elite_weights(scores) if own is None else own
    members = np.flatnonzero(signed)
    members = members[np.argsort(-np.abs(signed[members]), kind="stable")]
    whole = _cloud(scores, signed, members)
    kept = _cloud(scores, signed, members[:LARGEST_CLOUD])
    spectrum = kept.principal(SHOWN)[0] / kept.trace if kept.trace > 0 else np.empty(0)
    return Concentration(
        of="elites" if own is None else "chosen",
        members=len(members),
        ess=whole.ess,
        largest_weight=float(whole.weights.max()),
        kappa=whole.kappa if math.isfinite(whole.kappa) else None,
        cloud=len(kept.weights),
        effective_rank=kept.effective_rank(),
        alignment=_range(kept.alignment),
        dispersion=_range(kept.dispersion / kept.lengths),
        spectrum=spectrum.tolist(),
        weights=listed(scores, signed, members[:SHOWN]),
    )


def listed(scores: PopulationScores, signed: Vector, members: Indices) -> list[Member]:
    """The members of these indices; weights are shares of all absolute weights."""
    shares = signed / max(float(np.abs(signed).sum()), np.finfo(np.float64).tiny)
    return [
        Member(scores.keys[i], float(scores.sigmas[i]), float(scores.rewards[i]), float(shares[i]))
        for i in members.tolist()
    ]


def drawn(scores: PopulationScores, direction: Direction | None, most: int = 2000) -> list[Member]:
    """The population as a plot shows it: all members, or `most` of them evenly spaced by reward."""
    own = member_weights(scores, direction) if direction is not None else None
    n = len(scores.keys)
    order = np.argsort(-scores.rewards, kind="stable")
    kept = np.sort(order[np.linspace(0, n - 1, min(n, most)).round().astype(np.intp)])
    return listed(scores, np.zeros(n) if own is None else own, kept)


def member_weights(scores: PopulationScores, direction: Direction) -> Vector | None:
    """Signed weight of each member in a direction, shape (N,); None where it is not a sum of members.

    Only members of one seed each can be told apart in a sum; the seeds of a merge carry its weights.
    """
    if any(len(member.components) > 1 for member in scores.perturbations):
        return None
    place = {member.components[0].seed: i for i, member in enumerate(scores.perturbations)}
    parts = direction.merge.weights if direction.merge is not None else None
    weights = np.zeros(len(scores.keys))
    for number, component in enumerate(direction.components):
        index = place.get(component.seed)
        if index is None:
            return None
        own = scores.perturbations[index].components[0].amplitude * scores.perturbations[index].step
        weights[index] = component.amplitude / own if parts is None else parts[number]
    return weights if weights.any() else None


def _elite_weights(scores: PopulationScores) -> Vector:
    elite = best_half(scores.rewards)
    weights = np.zeros(len(scores.keys))
    weights[elite] = softmax_with_floor(SHARPNESS * scores.rewards[elite], len(elite) / 2)
    return weights


def _cloud(scores: PopulationScores, signed: Vector, members: Indices) -> Cloud:
    from scipy.sparse import diags_array

    part = signed[members]
    points: csr_array = diags_array(np.sign(part)).tocsr() @ scores.coefficients[members]
    return Cloud(np.abs(part) / np.abs(part).sum(), points)


def _range(values: Vector) -> Range:
    return Range(float(values.min()), float(np.median(values)), float(values.max()))
