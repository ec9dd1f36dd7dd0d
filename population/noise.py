"""Noise contract, version 1: the same bits on every machine, addressable to the element.

A noise tensor is named by (seed, name, stream). Its key is BLAKE2b of seed and name, block i of
Philox4x32-10 under that key gives elements 8i … 8i + 7, sixteen bits each, and a table turns sixteen bits
into a normal quantile. ``name`` is the tensor's name in the Hugging Face checkpoint; elements are counted
row-major in the full tensor, so that shards, fused layouts and devices agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from population import philox
from population.direction import Component, Law
from population.errors import DirectionInvalid
from population.fields import as_float, as_seed
from population.tensors import CODES, bits, dtype_of, raw
from population.threads import spread

if TYPE_CHECKING:
    import torch

LIMIT = 2**63
"""Elements of one noise tensor that can be addressed."""


def gaussian(seed: int, name: str, start: int, stop: int, stream: int = 0) -> NDArray[np.float32]:
    """Elements ``start:stop`` of the standard normal noise of (seed, name, stream), float32.

    Costs work in ``stop - start`` only; any slice equals that slice of the whole.

    Args:
        seed: 0 … 2⁶⁴ − 1.
        name: the tensor's name in the checkpoint.
        start: first element, flat row-major index in the full tensor.
        stop: one past the last.
        stream: 0 … 2³² − 1; 0 is full-rank noise, 1 and 2 the factors of low-rank noise, 3 DARE's masks.

    Raises:
        DirectionInvalid: an argument out of its range.
    """
    from population import kernels

    start, stop = _integer(start, "start"), _integer(stop, "stop")
    if not 0 <= start <= stop <= LIMIT:
        raise DirectionInvalid(f"noise elements {start}:{stop} are no range from 0 to 2^63")
    stream = _integer(stream, "stream")
    if not 0 <= stream < 2**32:
        raise DirectionInvalid(f"noise stream {stream} is not an integer from 0 to 2^32 - 1")
    k0, k1 = (np.uint64(word) for word in philox.key(as_seed(seed), name))
    first = start // 8
    blocks = -(-stop // 8) - first if stop > start else 0
    values = np.empty(8 * blocks, np.float32)
    kernels.fill(k0, k1, np.uint64(stream), np.uint64(first), blocks, philox.table(), values)
    return values[start - 8 * first :][: stop - start]


def perturb(
    out: NDArray[Any] | torch.Tensor,
    base: NDArray[Any] | torch.Tensor,
    law: Law,
    name: str,
    shape: Sequence[int],
    components: Sequence[Component],
    step: float = 1.0,
    *,
    storage: str = "bfloat16",
    start: int = 0,
    threads: int = 1,
) -> None:
    """Realise weights: ``out = round(base + step · Σ_k a_k · z_k)``, without a full-size temporary.

    Each element is computed in float32, one rounding per operation: s = 0; for the components in order
    s = s + (a_k · z_k); t = step · s; w = base + t. Then w is rounded once, to nearest even, into ``storage``
    (overflow to infinity, every NaN to the dtype's positive quiet NaN) and widened exactly if ``out`` is
    wider. a_k is float32(amplitude_k) · float32(scale of the tensor under the law), rounded to float32.
    The bits depend neither on ``threads`` nor on how a tensor is cut into calls. Low-rank laws give tensors
    that are no matrices full noise. The law's scope is the caller's to apply.

    Args:
        out: contiguous array to write, as long as ``base``: the storage dtype (bfloat16 as uint16) or
            float32; numpy, or torch on CPU or CUDA. ``out`` may be ``base``.
        base: contiguous stored weights: bfloat16 as uint16, float16 or float32; where ``out`` is.
        name: the tensor's name in the checkpoint.
        shape: of the full tensor.
        components: at least one.
        storage: ``bfloat16``, ``float16`` or ``float32``.
        start: flat index, in the full tensor, of the arrays' first element.
        threads: most threads to use.

    Raises:
        DirectionInvalid: an amplitude or step that is not finite in float32, or arrays that do not fit.
    """
    amplitudes = scaled_amplitudes(law, name, [component.amplitude for component in components])
    factor = np.float32(as_float(step, "the step"))
    seeds = [component.seed for component in components]
    if not seeds:
        raise DirectionInvalid(f"no component to perturb {name} with", hint="copy the base instead")
    if not isinstance(out, np.ndarray) and out.device.type != "cpu":
        from population import triton_noise

        triton_noise.perturb(
            out, base, law, name, shape, seeds, amplitudes, factor, storage=storage, start=start
        )
        return
    from population import kernels

    target, source = raw(out), raw(base)
    check_arrays(target, source, storage)
    check_range(name, shape, start, source.size)
    keys, rights, columns = _noise(law, name, shape, seeds)
    table, codes = philox.table(), (CODES[storage], CODES[dtype_of(source)])
    to, of = bits(target), bits(source)

    def work(begin: int, end: int) -> None:
        kernels.perturb(
            to[begin:end], codes[0], of[begin:end], codes[1],
            keys, rights, columns, amplitudes, factor, start + begin, table,
        )  # fmt: skip

    spread(work, source.size, threads)


def accumulate(
    sums: NDArray[np.float32],
    law: Law,
    name: str,
    shape: Sequence[int],
    seeds: Sequence[int],
    coefficients: NDArray[np.floating[Any]],
    *,
    start: int = 0,
    threads: int = 1,
) -> int:
    """``sums[d] += Σ_k coefficients[d, k] · z_k`` for D directions, from one generation of the noise.

    Row d, starting from zero, equals bit for bit the Σ that ``perturb`` makes of the seeds with nonzero
    coefficients in row d, in the order of ``seeds``.

    Args:
        sums: (D, n) float32, C-contiguous, changed in place; columns are elements ``start … start + n``.
        seeds: K of them, distinct.
        coefficients: (D, K) amplitudes; the law's scale is applied here, as in ``perturb``.

    Returns:
        How many noise values were drawn: K · n; K · rank · (rows touched + columns) for a matrix under
        a low-rank law.

    Raises:
        DirectionInvalid: arrays that do not fit, a bad seed, or a coefficient that float32 cannot hold.
    """
    from population import kernels

    table = scaled_amplitudes(law, name, coefficients)
    if sums.dtype != np.float32 or sums.ndim != 2 or not sums.flags.c_contiguous:
        raise DirectionInvalid(f"sums are a contiguous (D, n) float32 array, not {sums.dtype} {sums.shape}")
    if table.shape != (sums.shape[0], len(seeds)):
        raise DirectionInvalid(
            f"coefficients of shape {table.shape} for {sums.shape[0]} sums over {len(seeds)} seeds"
        )
    check_range(name, shape, start, sums.shape[1])
    keys, rights, columns = _noise(law, name, shape, [as_seed(seed) for seed in seeds])

    def work(begin: int, end: int) -> None:
        kernels.accumulate(sums, begin, end, keys, rights, columns, table, start, philox.table())

    spread(work, sums.shape[1], threads)
    return len(seeds) * _drawn(rights, columns, start, sums.shape[1])


def apply(
    out: NDArray[Any], base: NDArray[Any], sums: NDArray[np.float32], step: float, storage: str
) -> None:
    """``out = round(base + step · sums)``: the end of ``perturb`` for a sum that ``accumulate`` made.

    Args:
        out: as for ``perturb``.
        base: as for ``perturb``.
        sums: float32, as long as ``base``.

    Raises:
        DirectionInvalid: a step that is not finite in float32, or arrays that do not fit.
    """
    from population import kernels

    target, source = raw(out), raw(base)
    check_arrays(target, source, storage)
    if sums.dtype != np.float32 or sums.shape != source.shape:
        raise DirectionInvalid(f"sums {sums.dtype} {sums.shape} for {source.size} weights")
    factor = np.float32(as_float(step, "the step"))
    kernels.apply(bits(target), CODES[storage], bits(source), CODES[dtype_of(source)], sums, factor)


class Member:
    """The noise of one seed over one tensor, before any amplitude or scale.

    Args:
        shape: of the full tensor.
    """

    def __init__(self, law: Law, name: str, shape: Sequence[int], seed: int) -> None:
        self._keys, self._rights, self._columns = _noise(law, name, shape, [seed])
        self._table = philox.table()

    def values(self, start: int, count: int, buffer: NDArray[np.float32]) -> NDArray[np.float32]:
        """Elements ``start … start + count``: a view of ``buffer``, which holds at least count + 16."""
        from population import kernels

        k0, k1 = self._keys[0]
        skip = kernels._noise(k0, k1, self._rights[0], self._columns, start, count, self._table, buffer)
        return buffer[skip : skip + count]

    def mask(self, start: int, count: int, buffer: NDArray[np.float32]) -> NDArray[np.float32]:
        """The same elements of the stream that masks are drawn from, full noise whatever the law's kind."""
        from population import kernels

        k0, k1 = self._keys[0]
        first = start // 8
        blocks = -(-(start + count) // 8) - first
        kernels.fill(k0, k1, np.uint64(philox.MASK), np.uint64(first), blocks, self._table, buffer)
        return buffer[start - 8 * first :][:count]

    def drawn(self, start: int, count: int) -> int:
        """How many values of noise ``values`` makes."""
        return _drawn(self._rights, self._columns, start, count)


def check_arrays(target: NDArray[Any], source: NDArray[Any], storage: str) -> None:
    """Refuse (DirectionInvalid) an output of another length, or of a dtype that cannot hold ``storage``."""
    if storage not in CODES:
        raise DirectionInvalid(f"unknown storage dtype {storage!r}", hint=f"use {', '.join(CODES)}")
    if target.size != source.size:
        raise DirectionInvalid(f"{source.size} base weights for an output of {target.size}")
    if dtype_of(target) not in (storage, "float32"):
        raise DirectionInvalid(f"an output of {dtype_of(target)} cannot hold weights stored as {storage}")


def scaled_amplitudes(law: Law, name: str, values: Any) -> NDArray[np.float32]:
    """float32(amplitude) · float32(scale of the tensor under the law), rounded to float32.

    Raises:
        DirectionInvalid: one of them is not finite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.asarray(values, np.float64).astype(np.float32) * np.float32(law.scale_of(name))
    if not np.isfinite(scaled).all():
        raise DirectionInvalid(
            f"an amplitude for {name} is not a finite float32 number", hint="lower the scale"
        )
    return np.ascontiguousarray(scaled)


def _keys(seeds: Sequence[int], name: str) -> NDArray[np.uint64]:
    return np.array([philox.key(seed, name) for seed in seeds], np.uint64).reshape(-1, 2)


def _noise(
    law: Law, name: str, shape: Sequence[int], seeds: Sequence[int]
) -> tuple[NDArray[np.uint64], NDArray[np.float32], int]:
    """What the kernels need to make noise: keys (K, 2), factors Bᵀ (K, r, columns) or nothing, columns."""
    name = law.noise_name(name)
    keys = _keys(seeds, name)
    if not law.is_lowrank(shape):
        return keys, np.empty((len(seeds), 0, 0), np.float32), 1
    rank, columns = law.rank or 1, shape[1]
    rights = np.empty((len(seeds), rank, columns), np.float32)
    for right, seed in zip(rights, seeds, strict=True):
        right[:] = gaussian(seed, name, 0, columns * rank, philox.RIGHT).reshape(columns, rank).T
    return keys, rights, columns


def _drawn(rights: NDArray[np.float32], columns: int, start: int, count: int) -> int:
    if not rights.size or not count:
        return count
    rows = (start + count - 1) // columns - start // columns + 1
    rank: int = rights.shape[1]
    return rank * (rows + columns)


def check_range(name: str, shape: Sequence[int], start: int, count: int) -> None:
    """Refuse (DirectionInvalid) elements that a tensor of ``shape`` does not have."""
    if not 0 <= start <= start + count <= math.prod(shape):
        raise DirectionInvalid(
            f"{name} of shape {tuple(shape)} has {math.prod(shape)} elements, not {start}:{start + count}"
        )


def _integer(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise DirectionInvalid(f"{what} of noise is {value!r}, not an integer")
    return int(value)
