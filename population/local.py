"""Populations that lean towards directions which were found before.

Source: CoRP's stage 2 (arXiv 2605.31494). Its public code multiplies √λ, which is already of the size of σ,
by σ once more, which leaves the leading directions 7e-7 of the isotropic energy; here the two shares are
what ι says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from population.direction import Component, Direction, Law
from population.errors import PopulationInvalid
from population.proposal import Candidate, candidate_seed

COORDINATES = "\0coordinates"
"""Name under which ξ is drawn from a candidate's noise; no tensor is called that."""


@dataclass(frozen=True, slots=True)
class Axes:
    """Orthonormal vectors v_k along S seeds and the energy λ_k of each.

    Attributes:
        seeds: shape (S,).
        energies: λ_k > 0, shape (r,).
        vectors: shape (r, S).

    Raises:
        PopulationInvalid: shapes that do not fit, or an energy that is no positive number.
    """

    seeds: tuple[int, ...]
    energies: tuple[float, ...]
    vectors: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        lengths = {len(vector) for vector in self.vectors}
        if not self.vectors or len(self.vectors) != len(self.energies) or lengths != {len(self.seeds)}:
            raise PopulationInvalid(
                f"{len(self.energies)} energies, {len(self.vectors)} vectors of {sorted(lengths)} entries and"
                f" {len(self.seeds)} seeds make no axes"
            )
        if not all(math.isfinite(energy) and energy > 0 for energy in self.energies):
            raise PopulationInvalid(f"an axis with energy {min(self.energies)!r}")

    def point(self, coordinates: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Σ_k √(λ_k / Σλ) ξ_k v_k, shape (S,): of mean square length 1 where ξ is standard normal.

        Added up in the order of the axes, whatever library multiplies matrices.
        """
        energies = np.array(self.energies)
        factors = np.sqrt(energies / energies.sum()) * np.asarray(coordinates, np.float64)
        total = np.zeros(len(self.seeds))
        for factor, vector in zip(factors, self.vectors, strict=True):
            total += factor * np.array(vector)
        return total

    def to_json(self) -> dict[str, Any]:
        return {
            "seeds": list(self.seeds),
            "energies": list(self.energies),
            "vectors": [list(vector) for vector in self.vectors],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Axes:
        """The axes that ``to_json`` wrote, bit for bit."""
        return cls(tuple(data["seeds"]), tuple(data["energies"]), tuple(map(tuple, data["vectors"])))


def local(
    size: int, sigma: float, iota: float, axes: Axes, seed: int, law: Law, *, first: int = 0
) -> tuple[Candidate, ...]:
    """``size`` perturbations σ√ι z + σ√(1−ι) Σ_k √(λ_k/Σλ) ξ_k v_k, of mean square σ² per weight.

    z is new noise of each candidate, ξ standard normal, drawn from that noise's seed.

    Args:
        size: number of candidates, at least 2.
        sigma: RMS of the population per weight, before the law's scale.
        iota: share of the energy that is isotropic, in (0, 1].
        seed: as for ``population.proposal.isotropic``, which draws from the same indices.
        first: index of the first candidate.

    Raises:
        PopulationInvalid: an argument out of its range.
    """
    if size < 2 or not (math.isfinite(sigma) and sigma > 0) or not 0 < iota <= 1:
        raise PopulationInvalid(f"a local population of {size} with sigma {sigma!r} and iota {iota!r}")
    return tuple(_candidate(i, sigma, iota, axes, seed, law) for i in range(first, first + size))


def _candidate(index: int, sigma: float, iota: float, axes: Axes, seed: int, law: Law) -> Candidate:
    from population.noise import gaussian

    own = candidate_seed(seed, index)
    coordinates = gaussian(own, COORDINATES, 0, len(axes.energies))
    leaning = sigma * math.sqrt(1 - iota) * axes.point(coordinates)
    components = _nonzero(axes.seeds, leaning.tolist())
    isotropic = Component(own, sigma * math.sqrt(iota))
    return Candidate(f"c{index:05d}", Direction((*components, isotropic), law), sigma)


def _nonzero(seeds: Sequence[int], amplitudes: Sequence[float]) -> list[Component]:
    return [Component(s, amplitude) for s, amplitude in zip(seeds, amplitudes, strict=True) if amplitude]
