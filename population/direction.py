"""Directions: linear combinations of seeded noise, and the algebra of their coefficients.

Noise of different seeds is orthogonal in expectation, so inner products of directions are those of their
coefficient vectors, one axis per seed. Two components of one seed are the same axis whatever their σ. A
direction with a merge rule is not linear in its seeds: it can be scaled and realised, but has no algebra.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from population.errors import DirectionInvalid
from population.fields import as_float, as_seed, as_table
from population.merge import Merge
from population.philox import VERSION

KINDS = ("full", "lowrank")
SCHEMES = ("independent", "tied")
MAX_RANK = 512  # factors of every component are held at once: 16 MiB each at rank 512 and 8,192 columns

Scale = float | Mapping[str, float] | tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Component:
    """One axis: the noise of ``seed``, 0 … 2⁶⁴ − 1, times ``amplitude`` in units of the weights, σ included.

    Raises:
        DirectionInvalid: a seed out of range, an amplitude that float32 cannot hold.
    """

    seed: int
    amplitude: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", as_seed(self.seed))
        object.__setattr__(self, "amplitude", as_float(self.amplitude, f"the amplitude of seed {self.seed}"))


@dataclass(frozen=True, slots=True)
class Law:
    """What a unit of noise is.

    Attributes:
        kind: ``full``, an independent value per weight; ``lowrank``, A·Bᵀ/√rank for matrices (noise.md).
        rank: of a low-rank law, at least 1; None for a full one.
        scope: which tensors move: a preset of ``population.scope`` or name patterns.
        scheme: ``independent``, or ``tied``: every tensor reads the one noise sequence of the empty name.
        scale: σ-free factor on every amplitude: one number, or one per tensor name. A mapping is stored as
            (name, factor) pairs in the order of the names.
        version: of the noise contract.

    Raises:
        DirectionInvalid: any field out of its range.
    """

    kind: str = "full"
    rank: int | None = None
    scope: str | tuple[str, ...] = "all"
    scheme: str = "independent"
    scale: Scale = 1.0
    version: int = VERSION

    def __post_init__(self) -> None:
        _check_kind(self.kind, self.rank)
        if self.scheme not in SCHEMES:
            raise DirectionInvalid(
                f"unknown noise scheme {self.scheme!r}", hint=f"use {' or '.join(SCHEMES)}"
            )
        if isinstance(self.version, bool) or self.version != VERSION:
            raise DirectionInvalid(
                f"noise version {self.version!r}; this release makes version {VERSION}",
                hint="use the release that the recipe names",
            )
        object.__setattr__(self, "scope", _as_scope(self.scope))
        object.__setattr__(self, "scale", _as_scale(self.scale))

    def scale_of(self, name: str) -> float:
        """The factor on amplitudes in tensor ``name``.

        Raises:
            DirectionInvalid: a per-tensor table without it.
        """
        if isinstance(self.scale, float):
            return self.scale
        pairs = self.scale
        assert isinstance(pairs, tuple)  # what __post_init__ makes of a mapping
        at = bisect_left(pairs, name, key=itemgetter(0))  # once per tensor and switch: no dict of them all
        if at == len(pairs) or pairs[at][0] != name:
            raise DirectionInvalid(
                f"the law's scale table has no entry for {name}", hint="list it or narrow scope"
            )
        return pairs[at][1]

    def noise_name(self, name: str) -> str:
        """The name that enters the key of a tensor's noise: the empty one for all under the tied scheme."""
        return "" if self.scheme == "tied" else name

    def is_lowrank(self, shape: Sequence[int]) -> bool:
        """Whether a tensor of ``shape`` gets low-rank noise: only matrices can."""
        return self.kind == "lowrank" and len(shape) == 2

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "rank": self.rank,
            "scope": self.scope if isinstance(self.scope, str) else list(self.scope),
            "scheme": self.scheme,
            "scale": self.scale if isinstance(self.scale, float) else dict(self.scale),
            "version": self.version,
        }

    @classmethod
    def from_json(cls, data: object) -> Law:
        """The law that ``to_json`` wrote; unknown and missing fields are refused (DirectionInvalid)."""
        fields = as_table(data, "law", ("kind", "rank", "scope", "scheme", "scale", "version"))
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Direction:
    """Σ_k amplitude_k · z(seed_k) under one law, or their ``merge``, times ``step``.

    ``step`` is a factor of its own because realised weights are base + step · Σ: all steps along one line
    share the float32 sum bit for bit. ``direction * c`` changes the step; ``a + b`` folds the steps into the
    amplitudes. What reads coefficients (+, −, norm, inner, cosine, project) raises
    DirectionInvalid for a merged direction; scaling one is fine.

    Raises:
        DirectionInvalid: no component, one seed twice, a step that float32 cannot hold, a merge with another
            number of weights than there are components.
    """

    components: tuple[Component, ...]
    law: Law
    step: float = 1.0
    merge: Merge | None = None

    def __post_init__(self) -> None:
        components = tuple(self.components)
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "step", as_float(self.step, "the step"))
        if not components:
            raise DirectionInvalid("a direction without components", hint="None stands for the base weights")
        seeds = [component.seed for component in components]
        if len(set(seeds)) < len(seeds):
            twice = next(seed for seed in seeds if seeds.count(seed) > 1)
            raise DirectionInvalid(f"seed {twice} occurs twice in one direction", hint="add its amplitudes")
        if self.merge is not None and len(self.merge.weights) != len(components):
            raise DirectionInvalid(
                f"a merge with {len(self.merge.weights)} weights of {len(components)} components"
            )

    def coefficients(self) -> dict[int, float]:
        """step · amplitude by seed, in the order of the components.

        Raises:
            DirectionInvalid: a merged direction has none.
        """
        if self.merge is not None:
            raise DirectionInvalid(
                f"a {self.merge.kind} merge is not linear in its seeds: it has no coefficients",
                hint="add, project or measure its members instead; a merged direction can only be scaled",
            )
        return {component.seed: self.step * component.amplitude for component in self.components}

    def __add__(self, other: Direction) -> Direction:
        same_law(self, other)
        return _combine(self.law, [*self.coefficients().items(), *other.coefficients().items()])

    def __sub__(self, other: Direction) -> Direction:
        return self + -other

    def __neg__(self) -> Direction:
        return self * -1.0

    def __mul__(self, factor: float) -> Direction:
        return replace(self, step=self.step * as_float(factor, "the factor"))

    __rmul__ = __mul__

    def norm(self) -> float:
        """Length per coordinate: the RMS of the direction's values, in units of the weights (scale 1)."""
        return math.hypot(*self.coefficients().values())

    def to_json(self) -> dict[str, Any]:
        return {
            "components": [[component.seed, component.amplitude] for component in self.components],
            "law": self.law.to_json(),
            "step": self.step,
            **({"merge": self.merge.to_json()} if self.merge else {}),
        }

    @classmethod
    def from_json(cls, data: object) -> Direction:
        """The direction that ``to_json`` wrote, bit for bit.

        Raises:
            DirectionInvalid: unknown, missing or ill-typed fields.
        """
        fields = as_table(data, "direction", ("components", "law", "step"), ("merge",))
        pairs = fields["components"]
        if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
            raise DirectionInvalid("the components of a direction are a list of [seed, amplitude] pairs")
        components = tuple(Component(seed, amplitude) for seed, amplitude in pairs)
        merge = Merge.from_json(fields["merge"]) if "merge" in fields else None
        return cls(components, Law.from_json(fields["law"]), fields["step"], merge)

    def digest(self) -> str:
        """SHA-256 of the canonical JSON: equal for equal directions, on every machine."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def inner(a: Direction, b: Direction) -> float:
    """⟨a, b⟩ per coordinate: Σ a_s · b_s over shared seeds, expected value of the mean product.

    Raises:
        DirectionInvalid: the laws differ.
    """
    same_law(a, b)
    left, right = a.coefficients(), b.coefficients()
    return math.fsum(value * right[seed] for seed, value in left.items() if seed in right)


def cosine(a: Direction, b: Direction) -> float:
    """cos(a, b); 0 where one of them is zero."""
    length = a.norm() * b.norm()
    return inner(a, b) / length if length else 0.0


def project(a: Direction, onto: Direction) -> Direction:
    """The part of ``a`` along ``onto``, a multiple of it.

    Raises:
        DirectionInvalid: the laws differ, or ``onto`` is zero.
    """
    length = onto.norm()
    if not length:
        raise DirectionInvalid("projection onto a zero direction")
    return onto * (inner(a, onto) / length / length)


def same_law(a: Direction, b: Direction) -> None:
    if a.law != b.law:
        raise DirectionInvalid(
            f"directions of different laws: {a.law} and {b.law}", hint="sample both populations with one law"
        )


def _combine(law: Law, pairs: Iterable[tuple[int, float]]) -> Direction:
    merged: dict[int, float] = {}
    for seed, amplitude in pairs:
        merged[seed] = merged.get(seed, 0.0) + amplitude
    return Direction(tuple(Component(seed, amplitude) for seed, amplitude in merged.items()), law)


def _check_kind(kind: str, rank: int | None) -> None:
    if kind not in KINDS:
        raise DirectionInvalid(f"unknown kind of noise {kind!r}", hint=f"use {' or '.join(KINDS)}")
    if kind == "full" and rank is not None:
        raise DirectionInvalid(f"full noise with rank {rank}", hint="leave rank out, or set kind to lowrank")
    if kind == "lowrank" and (
        isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= MAX_RANK
    ):
        raise DirectionInvalid(
            f"low-rank noise of rank {rank!r}", hint=f"the rank is an integer from 1 to {MAX_RANK}"
        )


def _as_scope(scope: Any) -> str | tuple[str, ...]:
    if isinstance(scope, str):
        return scope
    if not isinstance(scope, list | tuple) or not scope or not all(isinstance(p, str) and p for p in scope):
        raise DirectionInvalid(f"scope {scope!r}", hint="name a preset or list patterns over tensor names")
    return tuple(scope)


def _as_scale(scale: Any) -> float | tuple[tuple[str, float], ...]:
    if not isinstance(scale, Mapping | tuple):
        return as_float(scale, "the law's scale")
    pairs = dict(scale)
    if not pairs or not all(isinstance(name, str) for name in pairs):
        raise DirectionInvalid("the law's scale table maps tensor names to numbers; this one does not")
    return tuple((name, as_float(pairs[name], f"the scale of {name}")) for name in sorted(pairs))
