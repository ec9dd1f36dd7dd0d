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
    noise: Array, bits: Array, threshold: np.int32, last: np.int32, amplitude: np.float32,
    weight: np.float32, weighted: bool, tally: Array,
) -> None:  # fmt: skip
    """One member's part in a TIES merge.

    Kept are magnitudes above ``threshold`` (as bits), and those equal to it up to element ``last``. The rows
    of ``tally`` (5, n) are votes, the sum and the weights of positive parts, and those of negative parts.
    Without branches, because what is kept is a coin toss to a processor's predictor: adding zeros instead is
    three times as fast.
    """
    votes, ups, up_weights, downs, down_weights = tally[0], tally[1], tally[2], tally[3], tally[4]
    zero = F32(0.0)
    for i in range(noise.size):
        size = np.int32(bits[i] & SIZE)
        kept = (size > threshold) | ((size == threshold) & (np.int32(i) <= last))
        trimmed = amplitude * noise[i] if kept else zero
        moved = weight * trimmed
        votes[i] += moved if weighted else trimmed
        ups[i] += moved if trimmed > zero else zero
        up_weights[i] += weight if trimmed > zero else zero
        downs[i] += moved if trimmed < zero else zero
        down_weights[i] += weight if trimmed < zero else zero


@compiled
def elect(tally: Array, normalize: bool, out: Array) -> None:
    """The sum of the elected side, divided by its weights if asked."""
    votes, ups, up_weights, downs, down_weights = tally[0], tally[1], tally[2], tally[3], tally[4]
    for i in range(out.size):
        up = votes[i] >= 0
        total, weight = (ups[i], up_weights[i]) if up else (downs[i], down_weights[i])
        out[i] = total / weight if normalize and weight > 0 else total
