"""Compiled loops behind ``population.noise``: one file, because numba's cache watches one file per kernel.

They work on chunks that stay in the first cache levels, hold no lock, and never contract a multiplication
and an addition into one rounding. Weights are addressed as unsigned integers of their width, so that
bfloat16 (which numpy lacks) and float16 (which numba lacks on CPUs) are bit patterns here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from population.philox import MULTIPLIERS, WEYL

CHUNK = 2048
"""Values per step of the fused loops: noise and sums (8 KiB each) stay in a first-level cache of 32 KiB."""

SWEEP_CHUNK = 512
SWEEP_GROUP = 8
"""Values per step and seeds per visit of a sum: 21 sums (42 KiB) and 8 noises (16 KiB) stay in the caches."""

BFLOAT16, FLOAT16, FLOAT32 = 0, 1, 2

GROUP = 16
"""Philox blocks per turn. Table reads of one turn overlap the arithmetic of the next: 1.1 G values/s where
turns of 4 blocks give 0.5 (unrolled, then not vectorised) and of 256 give 0.85 (no overlap)."""

M0, M1 = (np.uint64(word) for word in MULTIPLIERS)
W0, W1 = (np.uint64(word) for word in WEYL)
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(0xFFFF)
BY16, BY32, BY48 = np.uint64(16), np.uint64(32), np.uint64(48)


@njit(inline="always")
def _round(c0, c1, c2, c3, k0, k1):
    """One Philox round on words kept in 64 bits: upper halves are garbage that only ``& LOW`` has to drop."""
    p0, p1 = (c0 & LOW) * M0, (c2 & LOW) * M1
    return (p1 >> BY32) ^ c1 ^ k0, p1, (p0 >> BY32) ^ c3 ^ k1, p0


@njit(inline="always")
def _rounds(c0, c1, c2, c3, a, b):
    """Ten rounds, written out because LLVM vectorises no nested loop; the four words come as two uint64."""
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, a & LOW, b & LOW)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (a + W0) & LOW, (b + W1) & LOW)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (a + np.uint64(2) * W0) & LOW, (b + np.uint64(2) * W1) & LOW)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (a + np.uint64(3) * W0) & LOW, (b + np.uint64(3) * W1) & LOW)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (a + np.uint64(4) * W0) & LOW, (b + np.uint64(4) * W1) & LOW)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (a + np.uint64(5) * W0) & LOW, (b + np.uint64(5) * W1) & LOW)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (a + np.uint64(6) * W0) & LOW, (b + np.uint64(6) * W1) & LOW)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (a + np.uint64(7) * W0) & LOW, (b + np.uint64(7) * W1) & LOW)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (a + np.uint64(8) * W0) & LOW, (b + np.uint64(8) * W1) & LOW)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (a + np.uint64(9) * W0) & LOW, (b + np.uint64(9) * W1) & LOW)
    return (c0 & LOW) | (c1 << BY32), (c2 & LOW) | (c3 << BY32)


@njit(inline="always")
def _look_up(table, low, high, out, j):
    """The eight values of one block."""
    out[j] = table[low & HALF]
    out[j + 1] = table[(low >> BY16) & HALF]
    out[j + 2] = table[(low >> BY32) & HALF]
    out[j + 3] = table[low >> BY48]
    out[j + 4] = table[high & HALF]
    out[j + 5] = table[(high >> BY16) & HALF]
    out[j + 6] = table[(high >> BY32) & HALF]
    out[j + 7] = table[high >> BY48]


@njit(cache=True, nogil=True)
def words(k0, k1, c0, c1, c2, c3, out):
    """Philox of one counter into ``out``, two uint64 of two words each."""
    out[0], out[1] = _rounds(c0, c1, c2, c3, k0, k1)


@njit(cache=True, nogil=True)
def fill(k0, k1, stream, first, blocks, table, out):
    """Noise of Philox blocks ``first … first + blocks``: 8 · blocks values into ``out``."""
    low, high = np.empty(2 * GROUP, np.uint64), np.empty(2 * GROUP, np.uint64)
    for turn in range((blocks + GROUP - 1) // GROUP + 1):
        now = (turn & 1) * GROUP
        for i in range(GROUP):
            block = first + np.uint64(turn * GROUP + i)
            low[now + i], high[now + i] = _rounds(block, block >> BY32, stream, np.uint64(0), k0, k1)
        if turn > 0:
            before, done = GROUP - now, (turn - 1) * GROUP
            if done + GROUP <= blocks:
                for i in range(GROUP):
                    _look_up(table, low[before + i], high[before + i], out, 8 * (done + i))
            else:
                for i in range(blocks - done):
                    _look_up(table, low[before + i], high[before + i], out, 8 * (done + i))


@njit(cache=True, nogil=True)
def _lowrank(k0, k1, right, columns, start, count, table, out):
    """Elements ``start … start + count`` of A·Bᵀ/√r into ``out``; ``right`` is Bᵀ, (r, columns)."""
    rank = right.shape[0]
    scale = np.float32(1.0 / np.sqrt(np.float64(rank)))
    first_row, last_row = start // columns, (start + count - 1) // columns
    first = first_row * rank // 8
    blocks = ((last_row + 1) * rank + 7) // 8 - first
    left = np.empty(8 * blocks, np.float32)
    fill(k0, k1, np.uint64(1), np.uint64(first), blocks, table, left)
    done = 0
    for row in range(first_row, last_row + 1):
        column = start + done - row * columns
        width = min(columns - column, count - done)
        target = out[done : done + width]
        target[:] = np.float32(0.0)
        for r in range(rank):
            a, b = left[row * rank + r - 8 * first], right[r, column : column + width]
            for i in range(width):
                target[i] += a * b[i]
        for i in range(width):
            target[i] *= scale
        done += width


@njit(cache=True, nogil=True)
def _noise(k0, k1, right, columns, start, count, table, out):
    """Noise of elements ``start … start + count``; returns where in ``out`` it begins (full noise: if ``right`` is empty)."""
    if right.size:
        _lowrank(k0, k1, right, columns, start, count, table, out)
        return 0
    first = start // 8
    fill(k0, k1, np.uint64(0), np.uint64(first), (start + count + 7) // 8 - first, table, out)
    return start - 8 * first


@njit(cache=True, nogil=True)
def _widen(bits, code, values, scratch):
    """Stored ``bits`` as float32 ``values``; ``scratch`` is the same memory as uint32."""
    n = bits.size
    if code == BFLOAT16:
        for i in range(n):
            scratch[i] = np.uint32(bits[i]) << np.uint32(16)
    elif code == FLOAT32:
        for i in range(n):
            scratch[i] = bits[i]
    else:
        for i in range(n):  # exact for subnormals, whose fraction counts 2⁻²⁴
            values[i] = np.float32(bits[i] & 0x3FF) * np.float32(2.0**-24)
        for i in range(n):
            half = np.uint32(bits[i])
            exponent, wide = half & np.uint32(0x7C00), (half & np.uint32(0x7FFF)) << np.uint32(13)
            if exponent == np.uint32(0x7C00):
                wide += np.uint32(0x70000000)
            elif exponent:
                wide += np.uint32(0x38000000)
            else:
                wide = scratch[i]
            scratch[i] = wide | ((half & np.uint32(0x8000)) << np.uint32(16))


@njit(cache=True, nogil=True)
def _narrow_bfloat16(bits, out, shift):
    for i in range(bits.size):
        u = bits[i]
        r = (u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
        if (u & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000):
            r = np.uint32(0x7FC0)
        out[i] = r << shift


@njit(cache=True, nogil=True)
def _narrow_float32(bits, out):
    for i in range(bits.size):
        u = bits[i]
        if (u & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000):
            u = np.uint32(0x7FC00000)
        out[i] = u


@njit(cache=True, nogil=True)
def _narrow_float16(values, bits, out):
    """In ``values`` (the same memory as ``bits``) nothing is left behind."""
    n = values.size
    for i in range(n):
        u = bits[i]
        sign, size = (u >> np.uint32(16)) & np.uint32(0x8000), u & np.uint32(0x7FFFFFFF)
        if size > np.uint32(0x7F800000):
            r = np.uint32(0x7E00)
        elif size >= np.uint32(0x477FF000):  # 65520 and more round to infinity
            r = np.uint32(0x7C00) | sign
        elif size >= np.uint32(0x38800000):  # 2⁻¹⁴: normal
            r = size - np.uint32(0x38000000) + np.uint32(0xFFF) + ((size >> np.uint32(13)) & np.uint32(1))
            r = (r >> np.uint32(13)) | sign
        else:
            r = np.uint32(np.rint(abs(values[i]) * np.float32(2.0**24))) | sign
        out[i] = r


@njit(cache=True, nogil=True)
def _finish(out, storage, base, base_code, sums, step, values, bits):
    """out = round(base + step · sums) through the chunk ``values``, which is the same memory as ``bits``."""
    n = out.size
    _widen(base, base_code, values[:n], bits[:n])
    for i in range(n):
        moved = step * sums[i]
        values[i] += moved
    if storage == BFLOAT16:
        _narrow_bfloat16(bits[:n], out, np.uint32(8 * out.itemsize - 16))
    elif storage == FLOAT32:
        _narrow_float32(bits[:n], out)
    elif out.itemsize == 2:
        _narrow_float16(values[:n], bits[:n], out)
    else:
        halves = np.empty(n, np.uint16)
        _narrow_float16(values[:n], bits[:n], halves)
        _widen(halves, FLOAT16, values[:n], bits[:n])
        out[:] = bits[:n]


@njit(cache=True, nogil=True)
def apply(out, storage, base, base_code, sums, step):
    """out = round(base + step · sums) for whole arrays of one length."""
    values = np.empty(CHUNK, np.float32)
    bits = values.view(np.uint32)
    for at in range(0, out.size, CHUNK):
        to = min(at + CHUNK, out.size)
        _finish(out[at:to], storage, base[at:to], base_code, sums[at:to], step, values, bits)


@njit(cache=True, nogil=True)
def perturb(out, storage, base, base_code, keys, rights, columns, amplitudes, step, start, table):
    """The fused loop of ``population.noise.perturb``; ``keys`` (K, 2), ``rights`` (K, r, columns) or empty."""
    noise = np.empty(CHUNK + 16, np.float32)
    sums, values = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float32)
    bits = values.view(np.uint32)
    for at in range(0, out.size, CHUNK):
        n = min(CHUNK, out.size - at)
        sums[:n] = np.float32(0.0)
        for k in range(amplitudes.size):
            skip = _noise(keys[k, 0], keys[k, 1], rights[k], columns, start + at, n, table, noise)
            amplitude, chunk = amplitudes[k], noise[skip : skip + n]
            for i in range(n):
                sums[i] += amplitude * chunk[i]
        _finish(out[at : at + n], storage, base[at : at + n], base_code, sums, step, values, bits)


@njit(cache=True, nogil=True)
def accumulate(sums, begin, end, keys, rights, columns, coefficients, start, table):
    """Columns ``begin … end`` of ``sums`` (D, n) += coefficients (D, K) · noise (K, n), in the order of K.

    Eight seeds' noise is made at a time and added to a sum in one visit: for 21 sums this moves an eighth
    of the bytes that a visit per seed would.
    """
    total = coefficients.shape[1]
    noise = np.empty((SWEEP_GROUP, SWEEP_CHUNK + 16), np.float32)
    skips, used = np.empty(SWEEP_GROUP, np.int64), np.empty(SWEEP_GROUP, np.int64)
    for at in range(begin, end, SWEEP_CHUNK):
        n = min(SWEEP_CHUNK, end - at)
        for low in range(0, total, SWEEP_GROUP):
            group = min(SWEEP_GROUP, total - low)
            for g in range(group):
                k = low + g
                skips[g] = _noise(keys[k, 0], keys[k, 1], rights[k], columns, start + at, n, table, noise[g])
            for d in range(sums.shape[0]):
                count = 0
                for g in range(group):
                    if coefficients[d, low + g] != 0:
                        used[count] = g
                        count += 1
                _add(sums[d, at : at + n], noise, skips, coefficients[d, low : low + group], used[:count])


@njit(cache=True, nogil=True)
def _add(total, noise, skips, coefficients, used):
    """total += the ``used`` rows of ``noise`` times their coefficients, one float32 operation after the other."""
    n = total.size
    whole = used.size // 4 * 4
    for u in range(0, whole, 4):
        a, b, c, d = used[u], used[u + 1], used[u + 2], used[u + 3]
        za, zb = noise[a, skips[a] : skips[a] + n], noise[b, skips[b] : skips[b] + n]
        zc, zd = noise[c, skips[c] : skips[c] + n], noise[d, skips[d] : skips[d] + n]
        fa, fb, fc, fd = coefficients[a], coefficients[b], coefficients[c], coefficients[d]
        for i in range(n):
            total[i] = (((total[i] + fa * za[i]) + fb * zb[i]) + fc * zc[i]) + fd * zd[i]
    for u in range(whole, used.size):
        a = used[u]
        za, fa = noise[a, skips[a] : skips[a] + n], coefficients[a]
        for i in range(n):
            total[i] += fa * za[i]
