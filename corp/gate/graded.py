"""Rewards with grades: a paired permutation test and a bootstrap-t interval for the mean gain.

Prompts are the units that vary independently. Several samples of one prompt are averaged first: counted as
prompts of their own they would make the standard error too small, by more than a factor of three in some
benchmarks (Miller, "Adding error bars to evals", arXiv 2411.00640, clustered standard errors).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corp.errors import GateInvalid
from corp.gate.decision import Decision
from corp.gate.resampling import bootstrap_t, interval, sign_flip

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Base and candidate on the same prompts.

    Attributes:
        base: mean value per prompt, shape (n,).
        candidate: as base.
        p_value: of the two-sided sign-flip test.
        pivots: the bootstrap's (mean* - mean) / se*, sorted.
    """

    base: Vector
    candidate: Vector
    p_value: float
    pivots: Vector

    @property
    def gain(self) -> float:
        return float((self.candidate - self.base).mean())

    def at(self, level: float) -> Decision:
        """The decision at `level`: accepted if the gain is positive, p <= level and the interval is above 0.

        Where the test does not reject, the interval is made to include 0, as the two must not contradict
        each other.
        """
        differences = self.candidate - self.base
        low, high = interval(differences, self.pivots, level)
        if self.p_value > level:
            low, high = min(low, 0.0), max(high, 0.0)
        accepted = self.gain > 0 and self.p_value <= level and low > 0
        return Decision(
            accepted=accepted,
            gain=self.gain,
            interval=(low, high),
            p_value=self.p_value,
            level=level,
            fixes=int(np.sum(differences > 0)),
            regressions=int(np.sum(differences < 0)),
            n=len(differences),
            base=float(self.base.mean()),
            candidate=float(self.candidate.mean()),
            reason=_reason(self, low, high, level, accepted),
        )


def compare(base: npt.ArrayLike, candidate: npt.ArrayLike, *, seed: int = 0) -> Comparison:
    """Test and interval of the paired gain.

    Args:
        base: values, shape (n,), or (n, samples) with NaN for samples that could not be judged.
        candidate: the same prompts in the same order; the number of samples may differ.
        seed: of the sampled sign patterns and resamples.

    Raises:
        GateInvalid: different prompts, fewer than two, or a prompt without a value.
    """
    before, after = by_prompt(base), by_prompt(candidate)
    if len(before) != len(after) or len(before) < 2:
        raise GateInvalid(
            f"base has {len(before)} prompts, the candidate {len(after)}",
            hint="score both on the same, at least two",
        )
    differences = after - before
    signs, draws = np.random.SeedSequence(seed).spawn(2)
    return Comparison(before, after, sign_flip(differences, signs), bootstrap_t(differences, draws))


def by_prompt(values: npt.ArrayLike) -> Vector:
    """One value per prompt, shape (n,): the mean of the prompt's samples that have a value."""
    array = np.asarray(values, np.float64)
    samples = array[:, None] if array.ndim == 1 else array
    if samples.ndim != 2 or samples.size == 0:
        raise GateInvalid(f"values of shape {array.shape}, not (prompts,) or (prompts, samples)")
    judged = ~np.isnan(samples)
    if np.isinf(samples).any() or not judged.any(axis=1).all():
        raise GateInvalid("a prompt has no finite value", hint="leave out what could not be judged")
    means: Vector = np.where(judged, samples, 0.0).sum(axis=1) / judged.sum(axis=1)
    return means


def _reason(found: Comparison, low: float, high: float, level: float, accepted: bool) -> str:
    sign = "<=" if found.p_value <= level else ">"
    numbers = (
        f"mean value {found.candidate.mean():.4g} against {found.base.mean():.4g} for the base on"
        f" {len(found.base)} prompts, gain {found.gain:+.4f} ({100 * (1 - level):.4g} % interval"
        f" {low:+.4f} to {high:+.4f}), sign-flip p = {found.p_value:.2g} {sign} {level:.2g}"
    )
    if accepted:
        return f"Accepted: {numbers}."
    if found.gain <= 0:
        return f"Abstained, the candidate is not better: {numbers}."
    return f"Abstained, the gain may be luck: {numbers}."
