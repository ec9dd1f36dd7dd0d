"""A scored population as the operators see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from corp.errors import NoSignal, OperatorInvalid
from corp.operators.reliability import reliability, shrunken
from population.direction import Direction, Law

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

MIN_MEMBERS = 2


@dataclass(frozen=True, eq=False)
class PopulationScores:
    """N members by M prompts.

    Attributes:
        keys: of the members.
        perturbations: each member's displacement from the centre, of one law.
        sigmas: nominal amplitude of each member, > 0, shape (N,); equal values are one level.
        values: shaped reward per prompt, NaN where the verdict is invalid, shape (N, M).
        base: the centre's values on the same prompts, shape (M,).
        success: whether each answer passes; never where the verdict is invalid. Shape (N, M).
        base_success: whether the centre's do, shape (M,).

    Raises:
        OperatorInvalid: shapes that do not fit, fewer than two members, sigma <= 0, several laws, an
            infinite value, a member without a valid verdict.
    """

    keys: tuple[str, ...]
    perturbations: tuple[Direction, ...]
    sigmas: Vector
    values: Vector
    base: Vector
    success: Flags
    base_success: Flags

    def __post_init__(self) -> None:
        self._check_shapes()
        self._check_numbers()
        if len({perturbation.law for perturbation in self.perturbations}) > 1:
            raise OperatorInvalid(
                "the candidates are perturbed by different laws", hint="consolidate one law at a time"
            )

    @property
    def law(self) -> Law:
        return self.perturbations[0].law

    @cached_property
    def rewards(self) -> Vector:
        """Mean value over each member's valid prompts, shape (N,)."""
        rewards: Vector = np.nanmean(self.values, axis=1)
        return rewards

    @cached_property
    def radius(self) -> float:
        """Root mean square of the sigmas: the length of a typical member, per weight."""
        return float(np.sqrt(np.mean(self.sigmas**2)))

    @cached_property
    def levels(self) -> dict[float, Indices]:
        """The members of each sigma, smallest sigma first."""
        return {float(sigma): np.flatnonzero(self.sigmas == sigma) for sigma in np.unique(self.sigmas)}

    @cached_property
    def reliability(self) -> float:
        """Of the whole population's rewards, in [0, 1]; what differs between sigmas counts as signal."""
        return reliability(self.values)

    @cached_property
    def level_reliability(self) -> dict[float, float]:
        """Of the rewards within each sigma."""
        return {sigma: reliability(self.values[members]) for sigma, members in self.levels.items()}

    @cached_property
    def shrunken(self) -> Vector:
        """Each member's reward pulled to the mean by the population's reliability, shape (N,)."""
        return shrunken(self.rewards, self.reliability)

    @cached_property
    def judged(self) -> Flags:
        """Pairs in which both the member's and the centre's verdict are valid, shape (N, M)."""
        return ~np.isnan(self.values) & ~np.isnan(self.base)

    @cached_property
    def fixes(self) -> Flags:
        """Prompts that the centre fails and the member passes, shape (N, M)."""
        return self.judged & self.success & ~self.base_success

    @cached_property
    def regressions(self) -> Flags:
        """Prompts that the centre passes and the member fails, shape (N, M)."""
        return self.judged & ~self.success & self.base_success

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """Every seed once, in the order of the population: the axes of `coefficients`."""
        seeds = (component.seed for member in self.perturbations for component in member.components)
        return tuple(dict.fromkeys(seeds))

    @cached_property
    def coefficients(self) -> csr_array:
        """Amplitude of each member along each seed, shape (N, S); its rows are the points a_i.

        Noise of different seeds is orthogonal in expectation (cosines of about 3e-5 at 1e9 weights), so
        the geometry of these rows is that of the perturbations, one axis per seed.
        """
        from scipy.sparse import csr_array

        axis = {seed: number for number, seed in enumerate(self.seeds)}
        rows = [member.coefficients() for member in self.perturbations]
        lengths = np.cumsum([0, *map(len, rows)])
        columns = [axis[seed] for row in rows for seed in row]
        amplitudes = [amplitude for row in rows for amplitude in row.values()]
        return csr_array((amplitudes, columns, lengths), shape=(len(rows), len(self.seeds)))

    def require_signal(self) -> None:
        """Raise NoSignal where every member has the same reward."""
        if np.ptp(self.rewards) == 0:
            raise NoSignal(
                f"all {len(self.keys)} candidates have the same reward, {self.rewards[0]:g}",
                hint="use a larger sigma, more prompts or a task that the model gets right only sometimes",
            )

    def _check_shapes(self) -> None:
        n = len(self.keys)
        if n < MIN_MEMBERS:
            raise OperatorInvalid(f"a population of {n} cannot be consolidated", hint="score two or more")
        if self.values.ndim != 2 or self.values.shape[1] == 0:
            raise OperatorInvalid(f"values of shape {self.values.shape}, not (candidates, prompts)")
        if not len(self.perturbations) == len(self.sigmas) == len(self.values) == n:
            raise OperatorInvalid(
                f"{n} keys, {len(self.perturbations)} perturbations, {len(self.sigmas)} sigmas and"
                f" {len(self.values)} rows of values: one of each per candidate is needed"
            )
        if self.base.shape != self.values.shape[1:]:
            raise OperatorInvalid(
                f"{self.base.size} base values for {self.values.shape[1]} prompts",
                hint="score the base on the same split",
            )
        if self.success.shape != self.values.shape or self.base_success.shape != self.base.shape:
            raise OperatorInvalid(
                f"successes of shapes {self.success.shape} and {self.base_success.shape} for values of shapes"
                f" {self.values.shape} and {self.base.shape}"
            )

    def _check_numbers(self) -> None:
        if np.isinf(self.values).any() or np.isinf(self.base).any():
            raise OperatorInvalid("a reward is infinite", hint="mark such verdicts as invalid")
        mute = np.flatnonzero(np.isnan(self.values).all(axis=1))
        if mute.size:
            raise OperatorInvalid(
                f"the reward of {self.keys[int(mute[0])]} is not a number: it has no valid verdict",
                hint="leave out candidates that the verifier could not judge",
            )
        if (self.success & np.isnan(self.values)).any() or (self.base_success & np.isnan(self.base)).any():
            raise OperatorInvalid("a success without a valid verdict", hint="mark it as a failure")
        if not (np.isfinite(self.sigmas) & (self.sigmas > 0)).all():
            raise OperatorInvalid(
                f"sigma must be > 0; the smallest is {self.sigmas.min()}", hint="leave out null candidates"
            )
