# Kernels are Triton's language, not Python: their arguments have no Python types.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

"""The noise contract on CUDA: the fused loop of ``population.kernels`` as one Triton kernel.

Integer Philox and a table read give the CPU's bits; ``tl.randn`` would not, its Box-Muller is not portable.
Multiplications and additions are kept apart (``enable_fp_fusion=False``). One program makes ``BLOCKS``
Philox blocks, 8 · BLOCKS elements, for every component, and touches base and output once.

With ``TRITON_INTERPRET=1`` in the environment the kernel runs in Triton's interpreter, on CPU tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from numpy.typing import NDArray

from population import philox
from population.direction import Law
from population.errors import DirectionInvalid
from population.tensors import CODES

BLOCKS = 128

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}

M0, M1 = (tl.constexpr(word) for word in philox.MULTIPLIERS)
W0, W1 = (tl.constexpr(word) for word in philox.WEYL)
BFLOAT16, FLOAT16 = tl.constexpr(CODES["bfloat16"]), tl.constexpr(CODES["float16"])


@triton.jit
def _philox(block, stream, k0, k1):
    """Ten rounds of the counter (block low, block high, stream, 0), as four uint32 tensors."""
    c0, c1 = block.to(tl.uint32), (block >> 32).to(tl.uint32)
    c2, c3 = tl.zeros_like(c0) + stream, tl.zeros_like(c0)
    for _ in tl.static_range(10):
        high0, low0 = tl.umulhi(c0, M0), (c0 * M0).to(tl.uint32)
        high1, low1 = tl.umulhi(c2, M1), (c2 * M1).to(tl.uint32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + W0).to(tl.uint32), (k1 + W1).to(tl.uint32)
    return c0, c1, c2, c3


@triton.jit
def _values(table, block, stream, k0, k1):
    """The eight values of each block, as (BLOCKS · 8,) float32 in element order."""
    c0, c1, c2, c3 = _philox(block, stream, k0, k1)
    # ``join`` appends the fastest dimension: bits of the place in a block, from the highest to the lowest.
    low = tl.join(tl.join(c0, c2), tl.join(c1, c3))
    halves = tl.join(low & 0xFFFF, low >> 16)
    return tl.load(table + tl.reshape(halves, (halves.numel,)).to(tl.int32))


@triton.jit
def _round(values, CODE: tl.constexpr, WIDE: tl.constexpr):
    """Nearest-even bits of dtype CODE (NaN: the positive quiet one), as float32 bits if WIDE."""
    bits = values.to(tl.uint32, bitcast=True)
    if CODE == BFLOAT16:
        result = tl.where(values != values, 0x7FC0, (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).to(tl.uint32)
        if WIDE:
            result = result << 16
    elif CODE == FLOAT16:
        half = values.to(tl.float16)
        result = tl.where(values != values, 0x7E00, half.to(tl.uint16, bitcast=True)).to(tl.uint32)
        if WIDE:
            wide = half.to(tl.float32).to(tl.uint32, bitcast=True)
            result = tl.where(values != values, 0x7FC00000, wide).to(tl.uint32)
    else:
        result = tl.where(values != values, 0x7FC00000, bits).to(tl.uint32)
    return result


@triton.jit(do_not_specialize=["k0", "k1"])
def _fill(out, table, k0, k1, stream, start, count, BLOCKS: tl.constexpr):
    block = start // 8 + tl.program_id(0).to(tl.int64) * BLOCKS + tl.arange(0, BLOCKS)
    values = _values(table, block, stream, k0.to(tl.uint32), k1.to(tl.uint32))
    at = (start // 8 + tl.program_id(0).to(tl.int64) * BLOCKS) * 8 + tl.arange(0, 8 * BLOCKS) - start
    tl.store(out + at, values, mask=(at >= 0) & (at < count))


@triton.jit
def _perturb(
    out, base, table, keys, rights, lefts, amplitudes, step, scale, start, count, columns, first_row, rows,
    COMPONENTS: tl.constexpr, RANK: tl.constexpr, CODE: tl.constexpr, STORED: tl.constexpr,
    WIDE: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    first = start // 8 + tl.program_id(0).to(tl.int64) * BLOCKS
    block, element = first + tl.arange(0, BLOCKS), first * 8 + tl.arange(0, 8 * BLOCKS)
    at = element - start
    inside = (at >= 0) & (at < count)
    sums = tl.zeros((8 * BLOCKS,), tl.float32)
    for k in range(COMPONENTS):
        if RANK == 0:
            k0, k1 = tl.load(keys + 2 * k).to(tl.uint32), tl.load(keys + 2 * k + 1).to(tl.uint32)
            noise = _values(table, block, 0, k0, k1)
        else:
            row, column = element // columns - first_row, element % columns
            noise = tl.zeros((8 * BLOCKS,), tl.float32)
            for r in range(RANK):
                left = tl.load(lefts + (k * rows + row) * RANK + r, mask=inside, other=0.0)
                right = tl.load(rights + (k * columns + column) * RANK + r, mask=inside, other=0.0)
                noise = noise + left * right
            noise = noise * scale
        sums = sums + tl.load(amplitudes + k) * noise
    stored = tl.load(base + at, mask=inside, other=0)
    if STORED == BFLOAT16:
        weights = (stored.to(tl.uint16).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    elif STORED == FLOAT16:
        weights = stored.to(tl.float16, bitcast=True).to(tl.float32)
    else:
        weights = stored.to(tl.float32, bitcast=True)
    rounded = _round(weights + step * sums, CODE, WIDE)
    tl.store(out + at, rounded.to(out.dtype.element_ty), mask=inside)


def gaussian(
    seed: int, name: str, start: int, stop: int, stream: int = philox.FULL, device: str = "cuda"
) -> torch.Tensor:
    """``population.noise.gaussian`` on ``device``: (stop − start,) float32."""
    out = torch.empty(stop - start, dtype=torch.float32, device=device)
    if stop > start:
        k0, k1 = philox.key(seed, name)
        with torch.cuda.device_of(out):
            _fill[_grid(start, stop - start)](
                out, _table(device), k0, k1, stream, start, stop - start, BLOCKS, enable_fp_fusion=False
            )
    return out


def perturb(
    out: torch.Tensor,
    base: torch.Tensor | NDArray[Any],
    law: Law,
    name: str,
    shape: Sequence[int],
    seeds: Sequence[int],
    amplitudes: NDArray[np.float32],
    step: np.float32,
    *,
    storage: str,
    start: int = 0,
) -> None:
    """``population.noise.perturb`` for tensors of one device; amplitudes have the law's scale already.

    Raises:
        DirectionInvalid: tensors that do not fit each other or ``storage``.
    """
    base = _checked(out, base, storage)
    device, count = str(base.device), base.numel()
    if not count:
        return
    name = law.noise_name(name)
    rank, columns = (law.rank or 1, shape[1]) if law.is_lowrank(shape) else (0, 1)
    first_row, rows = start // columns, (start + count - 1) // columns - start // columns + 1
    lefts = _factors(seeds, name, philox.LEFT, first_row * rank, rows * rank, device)
    rights = _factors(seeds, name, philox.RIGHT, 0, columns * rank, device)
    keys = torch.tensor([philox.key(seed, name) for seed in seeds], dtype=torch.int64, device=device)
    factors, scale = torch.from_numpy(amplitudes).to(device), float(np.float32(1 / np.sqrt(rank or 1)))
    with torch.cuda.device_of(out):
        _perturb[_grid(start, count)](
            _bits(out), _bits(base), _table(device), keys, rights, lefts, factors,
            float(step), scale, start, count, columns, first_row, rows,
            len(seeds), rank, CODES[storage], CODES[_name(base)], out.element_size() == 4, BLOCKS,
            enable_fp_fusion=False,
        )  # fmt: skip


def _factors(
    seeds: Sequence[int], name: str, stream: int, start: int, count: int, device: str
) -> torch.Tensor:
    """One factor of every seed's low-rank noise: (K, count) float32."""
    return torch.stack([gaussian(seed, name, start, start + count, stream, device) for seed in seeds])


def _grid(start: int, count: int) -> tuple[int]:
    blocks = -(-(start + count) // 8) - start // 8
    return (-(-blocks // BLOCKS),)


@functools.cache
def _table(device: str) -> torch.Tensor:
    return torch.from_numpy(philox.table().copy()).to(device)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().view(-1).view(torch.int32 if tensor.element_size() == 4 else torch.int16)


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _checked(out: torch.Tensor, base: torch.Tensor | NDArray[Any], storage: str) -> torch.Tensor:
    if not isinstance(base, torch.Tensor) or base.device != out.device:
        raise DirectionInvalid(f"the output is on {out.device} and the base is not")
    if storage not in CODES or _name(base) not in CODES or _name(out) not in (storage, "float32"):
        raise DirectionInvalid(f"a base of {base.dtype} cannot be stored as {storage} in {out.dtype}")
    if out.numel() != base.numel() or not (out.is_contiguous() and base.is_contiguous()):
        raise DirectionInvalid(
            f"base {tuple(base.shape)} and output {tuple(out.shape)} are not alike in memory"
        )
    return base
