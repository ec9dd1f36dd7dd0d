"""Merge rules that are not linear in the noise: TIES and DARE, as part of a direction.

A merged direction has members d_k = amplitude_k · z_k (the "task vectors", σ included) and a weight w_k for
each. Per tensor of n elements and density p:

TIES (Yadav et al. 2023, arXiv 2306.01708, Algorithm 1)
    t_k = d_k where |z_k| is among the max(1, ⌊p·n⌋) largest of the tensor, of equals those of lowest flat
    index; 0 elsewhere. The elected sign s is that of Σ_k t_k (``sign_weighting="paper"``; PEFT and MergeLM
    agree) or of Σ_k w_k · t_k (``"mergekit"``), + where the sum is 0. With A = {k: t_k has the sign s} the
    result is Σ_A w_k · t_k, divided by Σ_A w_k if ``normalize`` (by 1 where A is empty). With equal weights
    that is the paper's disjoint mean; PEFT divides by |A| whatever the weights. Trimming is per tensor, as
    in mergekit and PEFT; the paper trims the whole model at once.

DARE (Yu et al. 2023, arXiv 2311.03099)
    M_k keeps each element with probability p̂ = round(2¹⁶ · p) / 2¹⁶, independently: where the noise of
    (seed_k, tensor, stream 3) is below the p̂-quantile of its table. The result is Σ_k w_k · r_k · M_k ∘ d_k,
    divided by Σ_k w_k if ``normalize``, with r_k = ‖z_k‖₁ / ‖M_k ∘ z_k‖₁ (``rescale="l1"``, mergekit), 1/p̂
    (``"inverse"``, the paper, PEFT) or 1 (``"none"``). The two agree to O(√((1 − p)/(p·n))).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from population.errors import DirectionInvalid
from population.fields import as_float, as_table

LEVELS = 65536
"""Densities of DARE are multiples of 1/LEVELS: a mask is drawn from sixteen bits."""

TINY = 2.0**-126  # smallest normal float32: weights are used in that precision

SIGN_WEIGHTINGS = ("paper", "mergekit")
RESCALES = ("l1", "inverse", "none")

_FIELDS = ("kind", "density", "weights", "sign_weighting", "rescale", "normalize")


@dataclass(frozen=True, slots=True)
class Merge:
    """How the components of a direction become one sum; the definitions are the module's.

    Attributes:
        kind: ``ties`` or ``dare``.
        density: share of each member that is kept, 1/65536 … 1.
        weights: ≥ 0 and not all 0, one per component of the direction, in its order.
        sign_weighting: of ties, ``paper`` or ``mergekit``; None for dare.
        rescale: of dare, ``l1``, ``inverse`` or ``none``; None for ties.
        normalize: divide by the weights that took part.

    Raises:
        DirectionInvalid: any field out of its range.
    """

    kind: str
    density: float
    weights: tuple[float, ...]
    sign_weighting: str | None = None
    rescale: str | None = None
    normalize: bool = True

    def __post_init__(self) -> None:
        _check_options(self)
        density = as_float(self.density, "the density of a merge")
        if not 1 / LEVELS <= density <= 1:
            raise DirectionInvalid(
                f"density {density:g} of a merge", hint="it is a share of the weights from 1/65536 to 1"
            )
        object.__setattr__(self, "density", density)
        object.__setattr__(self, "weights", _as_weights(self.weights))

    @property
    def level(self) -> int:
        """DARE keeps an element whose sixteen mask bits are below this: p̂ · 65536."""
        return round(self.density * LEVELS)

    def kept(self, size: int) -> int:
        """How many of ``size`` elements TIES keeps of each member."""
        return min(size, max(1, int(self.density * size)))

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS} | {"weights": list(self.weights)}

    @classmethod
    def from_json(cls, data: object) -> Merge:
        """The rule that ``to_json`` wrote; unknown and missing fields are refused (DirectionInvalid)."""
        return cls(**as_table(data, "merge", _FIELDS))


def _check_options(merge: Merge) -> None:
    options = {"ties": (SIGN_WEIGHTINGS, (None,)), "dare": ((None,), RESCALES)}
    if merge.kind not in tuple(options):
        raise DirectionInvalid(f"unknown merge {merge.kind!r}", hint=f"use {' or '.join(options)}")
    pairs = zip(("sign_weighting", "rescale"), options[merge.kind], strict=True)
    for name, allowed in pairs:
        if getattr(merge, name) not in allowed:
            names = ", ".join(str(value) for value in allowed)
            raise DirectionInvalid(
                f"{name} {getattr(merge, name)!r} of a {merge.kind} merge", hint=f"it can be {names}"
            )
    if not isinstance(merge.normalize, bool):
        raise DirectionInvalid(f"normalize is {merge.normalize!r}, not true or false")


def _as_weights(values: Any) -> tuple[float, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise DirectionInvalid("the weights of a merge are a list of numbers, one per component")
    weights = tuple(as_float(value, "a weight of a merge") for value in values)
    if min(weights) < 0 or max(weights) < TINY:
        raise DirectionInvalid(
            "the weights of a merge are negative or all zero", hint="put the sign into the amplitude"
        )
    return weights
