"""Numbering: permutations, arrangements and combinations found by their number, without lists of them."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from math import comb


def permutation(size: int, seed: int) -> Iterator[int]:
    """Every number below `size` once, in an order keyed by the seed, in constant memory.

    A four-round Feistel network over the next even power of two (Luby and Rackoff 1988), walked until it
    falls below `size`: at most four steps on average.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    for number in range(1 << 2 * half):
        mixed = _feistel(number, half, seed)
        if mixed < size:
            yield mixed


def _feistel(number: int, half: int, seed: int) -> int:
    left, right = number >> half, number & ((1 << half) - 1)
    for turn in range(4):
        left, right = right, left ^ (keyed(seed, turn, right) & ((1 << half) - 1))
    return left << half | right


def keyed(seed: int, *parts: int) -> int:
    """64 bits that depend on all of these."""
    text = ",".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(text, key=seed.to_bytes(8, "little"), digest_size=8).digest(), "little")


def arrangement(number: int, among: int, count: int) -> list[int]:
    """The arrangement of this number: `count` different values below `among`, in order."""
    values: list[int] = []
    for place in range(count):
        number, pick = divmod(number, among - place)
        for taken in sorted(values):  # the pick counts only what is still free
            pick += taken <= pick
        values.append(pick)
    return values


def multiset(number: int, among: int, count: int) -> list[int]:
    """The combination with repeats of this number: `count` values below `among`, ascending."""
    out, low = [], 0
    for left in range(count - 1, -1, -1):
        while number >= (block := comb(among - low + left - 1, left)):
            number -= block
            low += 1
        out.append(low)
    return out
