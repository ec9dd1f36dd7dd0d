"""What storing the weights leaves of a step: the intended change of every weight against the realised one.

bfloat16 has eight significant bits, so a weight in [2^e, 2^(e+1)) moves only by multiples of 2^(e-7). Steps
of about that size act as their own dither: on average nothing is lost. Smaller steps vanish: at a step of
5e-4, RMSNorm gains near 1 do not move at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from population.checkpoint import RAW, Checkpoint
from population.direction import Direction
from population.header import TensorInfo
from population.noise import apply
from population.scope import ATTENTION, EMBEDDINGS, MLP, NORMS, select
from population.sums import TensorSum
from population.tensors import bits
from population.threads import spread

CHUNK = 1 << 20
"""Weights in flight; each takes 32 bytes."""

WORST = 5
"""Tensors listed by name."""

HEAD = ("lm_head.*",)
GROUPS = (
    ("norms", NORMS),
    ("head", HEAD),
    ("embeddings", EMBEDDINGS),
    ("attention", ATTENTION),
    ("mlp", MLP),
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rounding:
    """Of one set of weights; d is the intended change of each, q the realised one.

    Attributes:
        name: of the tensor or group.
        weights: how many.
        intended: length of d.
        realised: length of q.
        gain: <q, d> / <d, d>; 1 where rounding loses nothing on average. None where d is zero.
        cosine: of q and d; None where one of them is zero.
        changed: share of the weights whose stored value differs.
        lost: share of |d|² in weights that did not change.
    """

    name: str
    weights: int
    intended: float
    realised: float
    gain: float | None
    cosine: float | None
    changed: float
    lost: float


def rounding(
    checkpoint: Checkpoint, direction: Direction, storage: str, *, threads: int = 1, chunk: int = CHUNK
) -> dict[str, Any]:
    """The whole model, its tensor groups, and the tensors of least gain.

    One pass over the direction's noise and the checkpoint, a chunk at a time; nothing is written.

    Args:
        direction: from the base, its step included.
        storage: dtype that the sums are rounded to.

    Raises:
        DirectionInvalid: the law's scope selects nothing.
        ModelMissing: the base's file is gone or short.
    """
    groups: defaultdict[str, _Sums] = defaultdict(_Sums)
    tensors: list[Rounding] = []
    for name in select(checkpoint.tensors, direction.law.scope):
        found = _Sums()
        for part in _changes(checkpoint, checkpoint.tensors[name], direction, storage, threads, chunk):
            found.add(*part)
        groups[group(name)] += found
        tensors.append(found.result(name))
    whole = sum(groups.values(), _Sums())
    return {
        "storage": storage,
        "overall": whole.result("all"),
        "groups": [groups[name].result(name) for name in sorted(groups)],
        "worst": sorted(tensors, key=_by_gain)[:WORST],
    }


def _by_gain(one: Rounding) -> tuple[float, str]:
    return one.gain if one.gain is not None else 1.0, one.name


def group(name: str) -> str:
    """Which part of the model a tensor belongs to: embeddings, attention, mlp, norms, head or other."""
    return next(
        (part for part, patterns in GROUPS if any(fnmatchcase(name, pattern) for pattern in patterns)),
        "other",
    )


def _changes(
    checkpoint: Checkpoint, info: TensorInfo, direction: Direction, storage: str, threads: int, chunk: int
) -> Iterator[tuple[Floats, Floats, npt.NDArray[np.bool_]]]:
    """(d, q, changed) of the tensor, chunk by chunk."""
    total = TensorSum(direction, info.name, info.shape, threads=threads)
    for start in range(0, info.size, chunk):
        stop = min(start + chunk, info.size)
        sums = np.empty(stop - start, np.float32)

        def fill(begin: int, end: int, sums: Any = sums, start: int = start) -> None:
            total.fill(sums[begin:end], start + begin)

        spread(fill, sums.size, threads)
        base = checkpoint.read(info.name, start, stop)
        before, after = np.empty(sums.size, RAW[storage]), np.empty(sums.size, RAW[storage])
        # Adding -0 leaves every number as it is: what an unmoved weight is stored as.
        apply(before, base, np.full(sums.size, -0.0, np.float32), 1.0, storage)
        apply(after, base, sums, direction.step, storage)
        changed = bits(before) != bits(after)
        realised = widened(after, storage) - widened(before, storage)
        yield np.float64(np.float32(direction.step)) * sums, realised, changed


def widened(stored: npt.NDArray[Any], storage: str) -> Floats:
    """Stored weights as float64; bfloat16 comes as uint16."""
    if storage == "bfloat16":
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Moments:
    weights: int = 0
    changed: int = 0
    dd: float = 0.0
    qq: float = 0.0
    qd: float = 0.0
    still: float = 0.0


class _Sums:
    """Second moments of d and q, added up chunk by chunk."""

    def __init__(self, moments: _Moments | None = None) -> None:
        self.moments = moments or _Moments()

    def add(self, d: Floats, q: Floats, changed: npt.NDArray[np.bool_]) -> None:
        still = d[~changed]
        part = _Moments(
            d.size, int(changed.sum()), float(d @ d), float(q @ q), float(q @ d), float(still @ still)
        )
        self.moments = (self + _Sums(part)).moments

    def __add__(self, other: _Sums) -> _Sums:
        names = _Moments.__slots__
        mine, theirs = self.moments, other.moments
        return _Sums(replace(mine, **{name: getattr(mine, name) + getattr(theirs, name) for name in names}))

    def result(self, name: str) -> Rounding:
        m = self.moments
        lengths = math.sqrt(m.dd * m.qq)
        return Rounding(
            name=name,
            weights=m.weights,
            intended=math.sqrt(m.dd),
            realised=math.sqrt(m.qq),
            gain=m.qd / m.dd if m.dd else None,
            cosine=m.qd / lengths if lengths else None,
            changed=m.changed / m.weights,
            lost=m.still / m.dd if m.dd else 0.0,
        )
