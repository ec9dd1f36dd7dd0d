"""Local populations: their energy is split as asked, and their draws are the noise contract's."""

from __future__ import annotations

import json
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from population.direction import Component, Direction, Law
from population.errors import DirectionInvalid, PopulationInvalid
from population.local import COORDINATES, Axes, local
from population.noise import gaussian
from population.proposal import BASE, Candidate, around, candidate_seed, isotropic

SEEDS = tuple(range(1000, 1020))


def axes(rank: int = 3, draw: int = 0) -> Axes:
    """Orthonormal rows by QR, energies of the size that a cloud of sigma 0.01 has."""
    basis = np.linalg.qr(np.random.default_rng(draw).normal(size=(len(SEEDS), rank)))[0].T
    energies = 1e-6 * np.arange(rank, 0, -1.0)
    return Axes(SEEDS, tuple(energies.tolist()), tuple(map(tuple, basis.tolist())))


def split(candidate: Candidate) -> tuple[npt.NDArray[np.float64], float]:
    """The part along the axes' seeds, and the amplitude of the new noise."""
    assert candidate.direction is not None
    coefficients = candidate.direction.coefficients()
    own = [seed for seed in coefficients if seed not in SEEDS]
    assert len(own) == 1
    return np.array([coefficients.get(seed, 0.0) for seed in SEEDS]), coefficients[own[0]]


@pytest.mark.parametrize("iota", [0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("sigma", [1e-3, 0.02])
def test_the_energy_of_a_population_is_sigma_squared_and_split_by_iota(iota: float, sigma: float) -> None:
    parts = [split(candidate) for candidate in local(600, sigma, iota, axes(), 5, Law())]
    leaning = np.mean([part @ part for part, _ in parts])
    assert np.mean([own**2 for _, own in parts]) == pytest.approx(iota * sigma**2, rel=1e-12)
    # xi² of unequal energies has relative standard deviation sqrt(2 * sum of shares²) = 0.88 per candidate.
    assert leaning == pytest.approx((1 - iota) * sigma**2, rel=5 * 0.88 / math.sqrt(600), abs=1e-30)


def test_the_part_along_each_axis_has_its_share_of_the_energy() -> None:
    around_axes = axes()
    parts = np.array([split(candidate)[0] for candidate in local(1500, 0.01, 0.5, around_axes, 7, Law())])
    along = parts @ np.array(around_axes.vectors).T
    np.testing.assert_allclose(parts, along @ np.array(around_axes.vectors), atol=1e-15)
    shares = np.array(around_axes.energies) / sum(around_axes.energies)
    covariance = along.T @ along / len(along) / (0.5 * 0.01**2)
    np.testing.assert_allclose(covariance, np.diag(shares), atol=5 / math.sqrt(1500))


def test_scaling_all_energies_changes_nothing() -> None:
    here = axes()
    larger = Axes(here.seeds, tuple(4.0 * energy for energy in here.energies), here.vectors)
    assert local(8, 0.01, 0.5, larger, 1, Law()) == local(8, 0.01, 0.5, here, 1, Law())


def test_a_candidate_is_the_formula_over_draws_of_its_own_seed() -> None:
    here = axes()
    (_, candidate) = local(2, 0.01, 0.3, here, 9, Law(), first=40)
    own = candidate_seed(9, 41)
    xi = gaussian(own, COORDINATES, 0, 3).astype(np.float64)
    energies = np.array(here.energies)
    weights = np.sqrt(energies / energies.sum()) * xi
    expected = 0.01 * math.sqrt(0.7) * (weights @ np.array(here.vectors))
    assert candidate.key == "c00041"
    assert candidate.direction is not None
    assert list(candidate.direction.coefficients()) == [*SEEDS, own]
    part, amplitude = split(candidate)
    np.testing.assert_allclose(part, expected, rtol=1e-12)
    assert amplitude == 0.01 * math.sqrt(0.3)


def test_populations_share_no_noise_with_isotropic_ones_of_other_indices() -> None:
    first = isotropic(20, [0.01], 3, Law())
    second = local(20, 0.01, 0.5, axes(), 3, Law(), first=20)
    seeds = [c.direction.components[-1].seed for c in (*first, *second) if c.direction]
    assert len(set(seeds)) == 40


@given(first=st.integers(0, 300), size=st.integers(3, 40))
def test_consecutive_parts_of_a_population_are_that_population(first: int, size: int) -> None:
    whole = isotropic(first + size, [0.01, 0.02, 0.03], 4, Law()) if first + size > 2 else ()
    assert isotropic(size, [0.01, 0.02, 0.03], 4, Law(), first=first) == whole[first:]


def test_axes_survive_json_to_the_bit() -> None:
    assert Axes.from_json(json.loads(json.dumps(axes().to_json()))) == axes()


@pytest.mark.parametrize(
    ("seeds", "energies", "vectors"),
    [
        ((1, 2), (1.0,), ((1.0,),)),
        ((1,), (1.0, 2.0), ((1.0,),)),
        ((1,), (), ()),
        ((1,), (0.0,), ((1.0,),)),
        ((1,), (math.nan,), ((1.0,),)),
        ((1,), (math.inf,), ((1.0,),)),
    ],
)
def test_axes_that_do_not_fit_are_refused(seeds: tuple[int], energies: tuple[float], vectors: object) -> None:
    with pytest.raises(PopulationInvalid):
        Axes(seeds, energies, vectors)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "sigma", "iota"),
    [(1, 0.01, 0.5), (8, 0.0, 0.5), (8, math.inf, 0.5), (8, 0.01, 0.0), (8, 0.01, 1.1)],
)
def test_local_populations_that_cannot_be_sampled_are_refused(size: int, sigma: float, iota: float) -> None:
    with pytest.raises(PopulationInvalid):
        local(size, sigma, iota, axes(), 0, Law())


def test_candidates_around_a_centre_are_sums_that_start_with_it() -> None:
    members = isotropic(3, [0.01], 1, Law())
    centre = Candidate("centre", Direction((Component(7, 0.5), members[1].direction.components[0]), Law()), 1)  # type: ignore[union-attr]
    moved = around(centre, members, "r2-")
    assert [candidate.key for candidate in moved] == ["r2-c00000", "r2-c00001", "r2-c00002"]
    assert [candidate.sigma for candidate in moved] == [0.01] * 3
    for candidate, member in zip(moved, members, strict=True):
        assert candidate.direction == centre.direction + member.direction  # type: ignore[operator]
        assert candidate.direction.components[0] == Component(7, 0.5)  # type: ignore[union-attr]
    assert moved[1].direction.coefficients()[members[1].direction.components[0].seed] == pytest.approx(0.02)  # type: ignore[union-attr]


def test_around_the_base_candidates_are_the_perturbations() -> None:
    members = isotropic(3, [0.01], 1, Law())
    assert [c.direction for c in around(BASE, members, "r1-")] == [c.direction for c in members]


def test_candidates_of_another_law_cannot_be_added_to_a_centre() -> None:
    centre = Candidate("centre", Direction((Component(7, 0.5),), Law(scheme="tied")), 0.5)
    with pytest.raises(DirectionInvalid, match="different laws"):
        around(centre, isotropic(2, [0.01], 1, Law()), "r1-")
