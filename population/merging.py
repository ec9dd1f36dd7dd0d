"""The sums of merged directions over one tensor, chunk by chunk: ``population.merge`` defines them.

Both rules need statistics of every member over the whole tensor: TIES its threshold, DARE its l1 ratio. They
are exact and come from passes over the noise instead of a copy of the tensor, so memory stays at a few
chunks a thread (and 0.4 % of the tensor at TIES' threshold), and no bit depends on threads or chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from population import philox
from population.direction import Direction
from population.errors import DirectionInvalid
from population.merge import LEVELS, Merge
from population.noise import Member, scaled_amplitudes
from population.threads import spread

BLOCK = 1 << 14
"""Elements merged at a time: seven float32 arrays of them, 448 KiB, stay in a second-level cache. DARE's
lengths are summed in blocks of this size, so it is part of what their last bits mean."""

ROOM = BLOCK + 16  # what ``Member`` needs for a block that starts within a Philox block

Float32 = NDArray[np.float32]

Known = MutableMapping[tuple[object, ...], Any]
"""Statistics of members over one tensor under one law, shared by the directions that need them."""


class Merged(Protocol):
    """The sum of one merged direction over one tensor.

    Attributes:
        drawn: values of noise that its statistics took.
    """

    drawn: int

    def fill(self, sums: Float32, start: int) -> int:
        """Elements ``start …`` into ``sums``, as many as it has; how many values of noise that took."""
        ...


def merged(
    direction: Direction, name: str, shape: Sequence[int], *, threads: int = 1, known: Known | None = None
) -> Merged:
    """The sum of a direction with a merge rule over tensor ``name`` of ``shape``.

    Raises:
        DirectionInvalid: an amplitude that float32 cannot hold, a law that does not fit the tensor.
    """
    assert direction.merge is not None
    kind = Ties if direction.merge.kind == "ties" else Dare
    return kind(direction, direction.merge, name, shape, threads, {} if known is None else known)


@dataclass(frozen=True, slots=True)
class Trim:
    """Kept are magnitudes (float32 bits) above ``threshold``, and equal ones up to element ``last``."""

    threshold: int
    last: int


class _Members:
    """What both rules start from: members, their amplitudes, and a statistic of each."""

    def __init__(
        self, direction: Direction, merge: Merge, name: str, shape: Sequence[int], threads: int, known: Known
    ) -> None:
        self._merge, self._size, self._threads, self._known = merge, math.prod(shape), threads, known
        self.drawn = 0
        amplitudes = [component.amplitude for component in direction.components]
        self._amplitudes = scaled_amplitudes(direction.law, name, amplitudes)
        self._seeds = [component.seed for component in direction.components]
        self._members = [Member(direction.law, name, shape, seed) for seed in self._seeds]

    def _measured(self, measure: Callable[[Member], Any], passes: int) -> list[Any]:
        """``measure`` of every member, those known already aside."""
        found = []
        for seed, member in zip(self._seeds, self._members, strict=True):
            key = (self._merge.kind, self._merge.density, seed)
            if key not in self._known:
                self._known[key] = measure(member)
                self.drawn += passes * member.drawn(0, self._size)
            found.append(self._known[key])
        return found


class Ties(_Members):
    """Trim, elect signs, average what agrees."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        keep = self._merge.kept(self._size)
        everything = keep == self._size
        self._trims: list[Trim] = self._measured(
            lambda member: trim(member, self._size, keep, self._threads), 0 if everything else 2
        )
        self._weights = np.array(self._merge.weights, np.float32)

    def fill(self, sums: Float32, start: int) -> int:
        from population import merge_kernels as kernels

        weighted, drawn = self._merge.sign_weighting == "mergekit", 0
        buffer, tally = np.empty(ROOM, np.float32), np.empty((5, BLOCK), np.float32)
        for at, n in _blocks(0, sums.size):
            tally[:] = 0
            for k, member in enumerate(self._members):
                noise = member.values(start + at, n, buffer)
                last = np.int32(min(max(self._trims[k].last - start - at, -1), n))
                kernels.vote(
                    noise, noise.view(np.uint32), np.int32(self._trims[k].threshold), last,
                    self._amplitudes[k], self._weights[k], weighted, tally,
                )  # fmt: skip
                drawn += member.drawn(start + at, n)
            kernels.elect(tally, self._merge.normalize, sums[at : at + n])
        return drawn


class Dare(_Members):
    """Drop at random, rescale, add."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        level, weights = self._merge.level, self._merge.weights
        self._limit = philox.table()[level] if level < LEVELS else np.float32(np.inf)
        ratios = {"none": 1.0, "inverse": LEVELS / level}.get(self._merge.rescale or "")
        scales = [ratios] * len(weights) if ratios else self._ratios()
        total = math.fsum(weights) if self._merge.normalize else 1.0
        with np.errstate(over="ignore"):
            exact = self._amplitudes * np.array(weights) * np.array(scales, np.float64) / total
            self._coefficients = exact.astype(np.float32)
        if not np.isfinite(self._coefficients).all():
            raise DirectionInvalid("a member's weight after DARE is not a finite float32 number")

    def _ratios(self) -> list[float]:
        self.drawn += len(self._members) * self._size
        return self._measured(lambda member: l1_ratio(member, self._size, self._limit, self._threads), 1)

    def fill(self, sums: Float32, start: int) -> int:
        from population import merge_kernels as kernels

        buffer, masks, drawn = np.empty(ROOM, np.float32), np.empty(ROOM, np.float32), 0
        sums[:] = 0
        for at, n in _blocks(0, sums.size):
            for k, member in enumerate(self._members):
                noise, mask = member.values(start + at, n, buffer), member.mask(start + at, n, masks)
                kernels.drop(noise, mask, self._limit, self._coefficients[k], sums[at : at + n])
                drawn += member.drawn(start + at, n) + n
        return drawn


def trim(member: Member, size: int, keep: int, threads: int = 1) -> Trim:
    """Which elements of a member's noise are its ``keep`` largest magnitudes, of equals the first.

    Exact without sorting the tensor: one pass counts magnitudes by their upper sixteen bits, a second one
    collects the bin that the threshold lies in, 0.2 to 0.4 % of a tensor of normal noise.
    """
    from population import merge_kernels as kernels

    if keep == size:
        return Trim(-1, size)
    counts: list[NDArray[np.int64]] = []
    edge: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def bits(begin: int, end: int) -> Iterator[tuple[int, NDArray[np.uint32]]]:
        buffer = np.empty(ROOM, np.float32)
        for at, n in _blocks(begin, end):
            yield at, member.values(at, n, buffer).view(np.uint32)

    def count(begin: int, end: int) -> None:
        bins = np.zeros(kernels.BINS, np.int64)
        for _, values in bits(begin, end):
            kernels.count(values, bins)
        counts.append(bins)

    spread(count, size, threads)
    above = np.cumsum(np.sum(counts, axis=0)[::-1])
    place = int(np.searchsorted(above, keep))
    missing = keep - (int(above[place - 1]) if place else 0)

    def collect(begin: int, end: int) -> None:
        for at, values in bits(begin, end):
            sizes = values & kernels.SIZE
            found = np.flatnonzero(sizes >> kernels.BIN == kernels.BINS - 1 - place)
            edge.append((sizes[found].astype(np.int64), found + at))

    spread(collect, size, threads)
    sizes, elements = (np.concatenate(parts) for parts in zip(*edge, strict=True))
    chosen = np.lexsort((elements, -sizes))[missing - 1]
    return Trim(int(sizes[chosen]), int(elements[chosen]))


def l1_ratio(member: Member, size: int, limit: np.float32, threads: int = 1) -> float:
    """‖z‖₁ / ‖M ∘ z‖₁ over a member's tensor; 1 where the mask keeps nothing."""
    from population import merge_kernels as kernels

    lengths: list[tuple[float, float]] = []

    def work(begin: int, end: int) -> None:
        buffer, masks = np.empty(ROOM, np.float32), np.empty(ROOM, np.float32)
        for at, n in _blocks(begin, end):
            lengths.append(kernels.lengths(member.values(at, n, buffer), member.mask(at, n, masks), limit))

    spread(work, size, threads, unit=BLOCK)
    whole, kept = (math.fsum(part) for part in zip(*lengths, strict=True))
    return whole / kept if kept else 1.0


def _blocks(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """(first element, how many) of each block from ``begin`` to ``end``."""
    for at in range(begin, end, BLOCK):
        yield at, min(BLOCK, end - at)
