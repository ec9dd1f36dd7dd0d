"""Candidates and the laws that propose them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from population.direction import Component, Direction, Law
from population.errors import PopulationInvalid


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model to score: the base moved along ``direction`` (None: the base itself).

    Attributes:
        key: its name in a search, unique there.
        sigma: the RMS of its displacement per weight, before the law's scale; from the centre of its
            population where that is not the base.
    """

    key: str
    direction: Direction | None
    sigma: float


BASE = Candidate("base", None, 0.0)

NULL_SEED = 0


def null_candidate(law: Law) -> Candidate:
    """σ = 0: the base's values through the whole perturbation path, so that any difference is a fault."""
    return Candidate("null", Direction((Component(NULL_SEED, 0.0),), law), 0.0)


def isotropic(
    size: int, sigmas: Sequence[float], seed: int, law: Law, *, first: int = 0
) -> tuple[Candidate, ...]:
    """``size`` independent perturbations σ·z, the σ dealt in turn so that every prefix is balanced.

    Args:
        size: number of candidates, at least 2 and at least one per σ.
        sigmas: distinct standard deviations, in units of the weights.
        seed: of the population; candidate seeds are hashes of (seed, index), so populations of different
            seeds share none, and a larger population starts with the smaller one.
        first: index of the first candidate; populations of one seed whose indices differ share no noise.

    Raises:
        PopulationInvalid: a size, σ or index out of range.
    """
    _check(size, sigmas, seed, first)
    grid = [float(sigma) for sigma in sigmas]
    return tuple(_candidate(i, grid[i % len(grid)], seed, law) for i in range(first, first + size))


def around(centre: Candidate, members: Sequence[Candidate], prefix: str) -> tuple[Candidate, ...]:
    """The centre moved by each member's direction; ``prefix`` goes before the members' keys.

    The centre's components come first in every candidate, so that all of them share its partial sum.

    Raises:
        DirectionInvalid: laws differ, or a direction that has no algebra.
    """
    candidates = []
    for member in members:
        assert member.direction is not None
        direction = moved(centre.direction, member.direction)
        candidates.append(Candidate(prefix + member.key, direction, member.sigma))
    return tuple(candidates)


def moved(centre: Direction | None, step: Direction) -> Direction:
    """The centre moved by ``step``; with no centre the step itself, whose multiples share one sum."""
    return step if centre is None else centre + step


def candidate_seed(seed: int, index: int) -> int:
    """BLAKE2b-64, little endian, of "population", ``seed`` and ``index`` with NUL between them."""
    digest = hashlib.blake2b(f"population\0{seed}\0{index}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _candidate(index: int, sigma: float, seed: int, law: Law) -> Candidate:
    component = Component(candidate_seed(seed, index), sigma)
    return Candidate(f"c{index:05d}", Direction((component,), law), sigma)


def _check(size: int, sigmas: Sequence[float], seed: int, first: int) -> None:
    if type(first) is not int or first < 0:
        raise PopulationInvalid(f"a population that starts at index {first!r}")
    if type(size) is not int or size < 2:
        raise PopulationInvalid(f"a population of {size!r}", hint="it takes at least two candidates")
    if type(seed) is not int:
        raise PopulationInvalid(f"population seed {seed!r} is not an integer")
    if not sigmas:
        raise PopulationInvalid("a population without a sigma", hint="give at least one, for example 0.001")
    for sigma in sigmas:
        if not (math.isfinite(sigma) and sigma > 0):
            raise PopulationInvalid(f"sigma {sigma!r}", hint="every sigma is a positive, finite number")
    if len(set(sigmas)) < len(sigmas):
        raise PopulationInvalid(f"sigmas {list(sigmas)} name one value twice")
    if len(sigmas) > size:
        raise PopulationInvalid(
            f"{len(sigmas)} sigmas for {size} candidates", hint="raise the size or drop some sigmas"
        )
