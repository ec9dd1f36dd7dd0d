"""Compiled loops behind ``population.noise``: one file, because numba's cache watches one file per kernel.

They work on chunks that stay in the first cache levels, hold no lock, and never contract a multiplication
and an addition into one rounding. Weights are addressed as unsigned integers of their width, so that
bfloat16 (which numpy lacks) and float16 (which numba lacks on CPUs) are bit patterns here.

numba widens uint32 arithmetic to 64 bits; the ``U32`` around every step keeps eight lanes in a vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from population.philox import LEFT, MULTIPLIERS, ROUNDS, WEYL

CHUNK = 2048
"""Values per step of the fused loops: noise and sums (8 KiB each) stay in a first-level cache of 32 KiB."""

SWEEP_CHUNK = 512
SWEEP_GROUP = 8
"""Values per step and seeds per visit of a sum: 21 sums (42 KiB) and 8 noises (16 KiB) stay in the caches."""

TURN = 4
"""Philox blocks made at a time, one per 64-bit lane of a 256-bit vector."""

BFLOAT16, FLOAT16, FLOAT32 = 0, 1, 2

U32, U64, F32 = np.uint32, np.uint64, np.float32
UNIT14, UNIT24 = F32(2.0**-14), F32(2.0**-24)  # float16: smallest normal number, smallest number

I32, I64 = ir.IntType(32), ir.IntType(64)
LANES = ir.VectorType(I64, TURN)
LOW, BY32 = ir.Constant(LANES, [0xFFFFFFFF] * TURN), ir.Constant(LANES, [32] * TURN)

Array = NDArray[Any]
Word = np.uint64
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(loop: Kernel) -> Kernel:
    kernel: Kernel = njit(cache=True, nogil=True)(loop)
    return kernel


def inlined(step: Kernel) -> Kernel:
    kernel: Kernel = njit(inline="always")(step)
    return kernel


def _bit_cast(source: Any, target: Any) -> Any:
    def typer(context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(source), generate

    return intrinsic(typer)


as_float = _bit_cast(types.uint32, types.float32)
as_bits = _bit_cast(types.float32, types.uint32)


def _turn(looking_up: bool) -> Any:
    """An intrinsic that makes the words of four Philox blocks and, if asked, looks up those of four others.

    turn(k0, k1, stream, block, words, now, before, table, out, at): blocks ``block … block + 4``, with
    ``stream`` the upper half of the counter, go to the eight uint64 at words[now]; the 32 halves in
    words[before:] become out[at: at + 32].

    Written in LLVM's terms because the order matters: arithmetic and table reads alternate, so that a core
    does one while it waits for the other. As loops of their own they make 1.1 G values/s, like this 1.55.
    Words are kept in 64-bit lanes whose upper halves are garbage that a multiplication ignores.
    """

    def typer(
        context: Any, k0: Any, k1: Any, stream: Any, block: Any,
        words: Any, now: Any, before: Any, table: Any, out: Any, at: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            def pointer(array: int, index: int) -> Any:
                data = context.make_array(signature.args[array])(context, builder, values[array]).data
                return builder.gep(data, [values[index]])

            target, source, values_out = pointer(4, 5), pointer(4, 6), pointer(8, 9)
            data = context.make_array(signature.args[7])(context, builder, values[7]).data
            state = _counter(builder, values[2], values[3])
            for turn in range(ROUNDS):
                state = _round(
                    builder, state, *(_round_key(builder, values[i], turn * WEYL[i]) for i in (0, 1))
                )
                if looking_up:
                    places = range(16 * turn // ROUNDS, 16 * (turn + 1) // ROUNDS)
                    _look_up(builder, places, source, data, values_out)
            _store_words(builder, state, target)
            return context.get_dummy_value()

        return types.void(k0, k1, stream, block, words, now, before, table, out, at), generate

    return intrinsic(typer)


def _counter(builder: Any, stream: Any, block: Any) -> list[Any]:
    blocks = builder.add(_splat(builder, block), ir.Constant(LANES, [0, 1, 2, 3]))
    streams = _splat(builder, stream)
    return [blocks, builder.lshr(blocks, BY32), streams, builder.lshr(streams, BY32)]


def _round_key(builder: Any, key: Any, offset: int) -> Any:
    word = builder.and_(builder.add(key, ir.Constant(I64, offset)), ir.Constant(I64, 0xFFFFFFFF))
    return _splat(builder, word)


def _round(builder: Any, state: list[Any], k0: Any, k1: Any) -> list[Any]:
    c0, c1, c2, c3 = state
    p0 = builder.mul(builder.and_(c0, LOW), ir.Constant(LANES, [MULTIPLIERS[0]] * 4))
    p1 = builder.mul(builder.and_(c2, LOW), ir.Constant(LANES, [MULTIPLIERS[1]] * 4))
    high0, high1 = builder.lshr(p0, BY32), builder.lshr(p1, BY32)
    return [builder.xor(builder.xor(high1, c1), k0), p1, builder.xor(builder.xor(high0, c3), k1), p0]


def _look_up(builder: Any, places: range, words: Any, table: Any, out: Any) -> None:
    """The two values of each word, low half first, in one store: with a store each it is a tenth slower."""
    words, table = (builder.bitcast(array, I32.as_pointer()) for array in (words, table))
    out = builder.bitcast(out, I64.as_pointer())
    for place in places:
        at = [ir.Constant(I64, place)]
        word = builder.zext(builder.load(builder.gep(words, at)), I64)
        halves = builder.and_(word, ir.Constant(I64, 0xFFFF)), builder.lshr(word, ir.Constant(I64, 16))
        low, high = (builder.zext(builder.load(builder.gep(table, [half])), I64) for half in halves)
        pair = builder.or_(low, builder.shl(high, ir.Constant(I64, 32)))
        builder.store(pair, builder.gep(out, at)).align = 4


def _store_words(builder: Any, state: list[Any], target: Any) -> None:
    """Four words of a block side by side, block after block."""
    c0, c1, c2, c3 = state
    low = builder.or_(builder.and_(c0, LOW), builder.shl(c1, BY32))
    high = builder.or_(builder.and_(c2, LOW), builder.shl(c3, BY32))
    target = builder.bitcast(target, LANES.as_pointer())
    for half, lanes in enumerate(([0, 4, 1, 5], [2, 6, 3, 7])):
        words = builder.shuffle_vector(low, high, ir.Constant(ir.VectorType(I32, 4), lanes))
        builder.store(words, builder.gep(target, [ir.Constant(I64, half)])).align = 8


def _splat(builder: Any, value: Any) -> Any:
    empty = ir.Constant(LANES, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, 4), [0] * 4))


make_words, turn = _turn(looking_up=False), _turn(looking_up=True)


@compiled
def words(k0: Word, k1: Word, stream: Word, block: Word, out: Array) -> None:
    """Words of four Philox blocks into ``out``, eight uint64 of two words each."""
    make_words(k0, k1, stream, block, out, 0, 0, out, out, 0)


@compiled
def fill(k0: Word, k1: Word, stream: Word, first: Word, blocks: int, table: Array, out: Array) -> None:
    """Noise of Philox blocks ``first … first + blocks``: 8 · blocks values into ``out``."""
    words, before, done = np.empty(4 * TURN, np.uint64), 0, 0
    make_words(k0, k1, stream, first, words, before, before, table, out, 0)
    while done + TURN <= blocks:
        now = 2 * TURN - before
        turn(k0, k1, stream, first + U64(done + TURN), words, now, before, table, out, 8 * done)
        before, done = now, done + TURN
    halves = words[before:].view(np.uint16)
    for i in range(8 * (blocks - done)):
        out[8 * done + i] = table[halves[i]]


@compiled
def _lowrank(
    k0: Word, k1: Word, right: Array, columns: int, start: int, count: int, table: Array, out: Array
) -> None:
    """Elements ``start … start + count`` of A·Bᵀ/√r into ``out``; ``right`` is Bᵀ, (r, columns)."""
    rank = right.shape[0]
    scale = F32(1.0 / np.sqrt(np.float64(rank)))
    first_row, last_row = start // columns, (start + count - 1) // columns
    first = first_row * rank // 8
    blocks = ((last_row + 1) * rank + 7) // 8 - first
    left = np.empty(8 * blocks, np.float32)
    fill(k0, k1, U64(LEFT), U64(first), blocks, table, left)
    done = 0
    for row in range(first_row, last_row + 1):
        column = start + done - row * columns
        width = min(columns - column, count - done)
        target = out[done : done + width]
        target[:] = F32(0.0)
        for r in range(rank):
            a, b = left[row * rank + r - 8 * first], right[r, column : column + width]
            for i in range(width):
                target[i] += a * b[i]
        for i in range(width):
            target[i] *= scale
        done += width


@compiled
def _noise(
    k0: Word, k1: Word, right: Array, columns: int, start: int, count: int, table: Array, out: Array
) -> int:
    """Noise of ``count`` elements from ``start``, full if ``right`` is empty; where it is in ``out``."""
    if right.size:
        _lowrank(k0, k1, right, columns, start, count, table, out)
        return 0
    first = start // 8
    fill(k0, k1, U64(0), U64(first), (start + count + 7) // 8 - first, table, out)
    return start - 8 * first


@inlined
def _from_half(half: np.uint32) -> np.float32:
    """The float16 with these bits, exactly; a subnormal's fraction counts 2⁻²⁴."""
    exponent, wide = U32(half & U32(0x7C00)), U32(U32(half & U32(0x7FFF)) << U32(13))
    bits = U32(wide + U32(0x70000000)) if exponent == U32(0x7C00) else U32(wide + U32(0x38000000))
    bits = bits if exponent else as_bits(F32(np.int32(half & U32(0x3FF))) * UNIT24)
    return as_float(U32(bits | U32(U32(half & U32(0x8000)) << U32(16))))  # type: ignore[no-any-return]


@inlined
def _to_half(value: np.float32) -> np.uint32:
    """Bits of the nearest float16, ties to even; NaN is 0x7e00."""
    bits = as_bits(value)
    sign, size = U32(U32(bits >> U32(16)) & U32(0x8000)), U32(bits & U32(0x7FFFFFFF))
    odd = U32(U32(size >> U32(13)) & U32(1))
    half = U32(U32(size + U32(0xFFF) + odd - U32(0x38000000)) >> U32(13))
    # Below 2^-14 float16 counts in 2^-24, and so does float32 between 0.5 and 1: the addition rounds.
    half = U32(as_bits(abs(value) + F32(0.5)) - U32(0x3F000000)) if abs(value) < UNIT14 else half
    half = U32(0x7C00) if size >= U32(0x477FF000) else half  # 65520 and more round to infinity
    return U32(0x7E00) if value != value else U32(half | sign)


@inlined
def _to_bfloat16(value: np.float32) -> np.uint32:
    """Bits of the nearest bfloat16, ties to even; NaN is 0x7fc0."""
    bits = as_bits(value)
    rounded = U32(bits + U32(0x7FFF) + U32(U32(bits >> U32(16)) & U32(1)))
    return U32(0x7FC0) if value != value else U32(rounded >> U32(16))


@inlined
def _to_float32(value: np.float32) -> np.uint32:
    return U32(0x7FC00000) if value != value else as_bits(value)


@compiled
def _widen(bits: Array, code: int, values: Array) -> None:
    """Stored ``bits`` of dtype ``code`` as float32."""
    if code == BFLOAT16:
        for i in range(bits.size):
            values[i] = as_float(U32(U32(bits[i]) << U32(16)))
    elif code == FLOAT16:
        for i in range(bits.size):
            values[i] = _from_half(U32(bits[i]))
    else:
        for i in range(bits.size):
            values[i] = as_float(U32(bits[i]))


@compiled
def _narrow(values: Array, code: int, out: Array) -> None:
    """``values`` rounded to dtype ``code``, as bits of that dtype or, where ``out`` is wider, of float32."""
    wide = out.itemsize == 4
    if code == BFLOAT16:
        for i in range(values.size):
            rounded = _to_bfloat16(values[i])
            out[i] = U32(rounded << U32(16)) if wide else rounded
    elif code == FLOAT16:
        for i in range(values.size):
            half = _to_half(values[i])
            out[i] = as_bits(_from_half(half)) if wide else half
    else:
        for i in range(values.size):
            out[i] = _to_float32(values[i])


@compiled
def _finish(
    out: Array, storage: int, base: Array, code: int, sums: Array, step: np.float32, values: Array
) -> None:
    """out = round(base + step · sums), through the chunk ``values``."""
    _widen(base, code, values)
    for i in range(out.size):
        moved = step * sums[i]
        values[i] += moved
    _narrow(values[: out.size], storage, out)


@compiled
def apply(out: Array, storage: int, base: Array, code: int, sums: Array, step: np.float32) -> None:
    """out = round(base + step · sums) for whole arrays of one length."""
    values = np.empty(CHUNK, np.float32)
    for at in range(0, out.size, CHUNK):
        to = min(at + CHUNK, out.size)
        _finish(out[at:to], storage, base[at:to], code, sums[at:to], step, values)


@compiled
def perturb(
    out: Array, storage: int, base: Array, code: int, keys: Array, rights: Array, columns: int,
    amplitudes: Array, step: np.float32, start: int, table: Array,
) -> None:  # fmt: skip
    """The loop of ``population.noise.perturb``: ``keys`` (K, 2), ``rights`` (K, r, columns) or empty."""
    noise, sums = np.empty(CHUNK + 16, np.float32), np.empty(CHUNK, np.float32)
    values = np.empty(CHUNK, np.float32)
    for at in range(0, out.size, CHUNK):
        n = min(CHUNK, out.size - at)
        sums[:n] = F32(0.0)
        for k in range(amplitudes.size):
            skip = _noise(keys[k, 0], keys[k, 1], rights[k], columns, start + at, n, table, noise)
            amplitude, chunk = amplitudes[k], noise[skip : skip + n]
            for i in range(n):
                sums[i] += amplitude * chunk[i]
        _finish(out[at : at + n], storage, base[at : at + n], code, sums, step, values)


@compiled
def accumulate(
    sums: Array, begin: int, end: int, keys: Array, rights: Array, columns: int, coefficients: Array,
    start: int, table: Array,
) -> None:  # fmt: skip
    """Columns ``begin … end`` of ``sums`` (D, n) += coefficients (D, K) · noise (K, n), in the order of K.

    Eight seeds' noise is made at a time and added to a sum in one visit: for 21 sums this moves an eighth
    of the bytes that a visit per seed would.
    """
    seeds = coefficients.shape[1]
    noise = np.empty((SWEEP_GROUP, SWEEP_CHUNK + 16), np.float32)
    skips, used = np.empty(SWEEP_GROUP, np.int64), np.empty(SWEEP_GROUP, np.int64)
    for at in range(begin, end, SWEEP_CHUNK):
        n = min(SWEEP_CHUNK, end - at)
        for low in range(0, seeds, SWEEP_GROUP):
            group = min(SWEEP_GROUP, seeds - low)
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


@compiled
def _add(total: Array, noise: Array, skips: Array, coefficients: Array, used: Array) -> None:
    """Add the ``used`` rows of ``noise`` times their coefficients, one float32 operation after the other."""
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
