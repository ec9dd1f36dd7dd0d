"""Compiled loops behind ``population.sums``: whole-tensor statistics and merges of one chunk of one member.

Like those of ``population.kernels`` they hold no lock and round every operation on its own. They call no
kernel of another file, because numba's cache watches one file per kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from population.kernels import compiled

F32 = np.float32
SIZE = np.uint32(0x7FFFFFFF)
"""Bits of a float32's magnitude: as integers they are ordered like the magnitudes."""

BIN = 15
BINS = 1 << (31 - BIN)
"""Bins of magnitudes by their upper sixteen bits; each is 1/256 wide, relatively."""

Array = NDArray[Any]


@compiled
def count(bits: Array, bins: Array) -> None:
    """Add the magnitudes of ``bits`` (float32 as uint32) to ``bins``."""
    for i in range(bits.size):
        bins[(bits[i] & SIZE) >> BIN] += 1


@compiled
def lengths(noise: Array, mask: Array, limit: np.float32) -> tuple[float, float]:
    """Σ |noise| and the same where ``mask`` < ``limit``, in float64, element after element."""
    whole, kept = 0.0, 0.0
    for i in range(noise.size):
        size = np.float64(abs(noise[i]))
        whole += size
        if mask[i] < limit:
            kept += size
    return whole, kept


@compiled
def drop(noise: Array, mask: Array, limit: np.float32, coefficient: np.float32, sums: Array) -> None:
    """sums += coefficient · noise where ``mask`` < ``limit``."""
    for i in range(noise.size):
        moved = coefficient * noise[i]
        sums[i] += moved if mask[i] < limit else F32(0.0)


@compiled
def vote(
    noise: Array, bits: Array, start: int, threshold: int, last: int, amplitude: np.float32,
    weight: np.float32, weighted: bool, votes: Array, sums: Array, weights: Array,
) -> None:  # fmt: skip
    """One member's part in a TIES merge of elements ``start …``.

    Kept are magnitudes above ``threshold`` (as bits), and those equal to it up to element ``last``. Rows 0
    and 1 of ``sums`` and ``weights`` (2, n) belong to the positive and the negative side.
    """
    for i in range(noise.size):
        size = np.int64(bits[i] & SIZE)
        if size > threshold or (size == threshold and start + i <= last):
            trimmed = amplitude * noise[i]
            moved = weight * trimmed
            votes[i] += moved if weighted else trimmed
            if trimmed > 0:
                sums[0, i] += moved
                weights[0, i] += weight
            elif trimmed < 0:
                sums[1, i] += moved
                weights[1, i] += weight


@compiled
def elect(votes: Array, sums: Array, weights: Array, normalize: bool, out: Array) -> None:
    """The sum of the elected side, divided by its weights if asked."""
    for i in range(out.size):
        side = 0 if votes[i] >= 0 else 1
        weight = weights[side, i]
        out[i] = sums[side, i] / weight if normalize and weight > 0 else sums[side, i]
