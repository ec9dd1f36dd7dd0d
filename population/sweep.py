"""Sums of many directions from one pass over their noise, in a scratch file.

A line search scores steps along D directions that share their seeds. Regenerating K seeds' noise for every
point would cost (points · K) passes; here each noise value is made once, D float32 sums of it go to a file,
and a point costs one read: weights = round(base + step · sum), bit for bit what ``perturb`` makes. Merged
directions share no pass, for they are not linear in the noise; they share their members' statistics.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from population.direction import Direction, Law, same_law
from population.errors import DirectionInvalid, DiskFull
from population.merging import Known
from population.noise import accumulate, apply
from population.scope import select
from population.sums import TensorSum
from population.tensors import raw
from population.threads import spread

BUFFER = 4 << 20
"""Bytes of sums that one thread holds: what it writes should still be in a cache."""


class Tensor(Protocol):
    """What a sweep asks of a tensor: ``population.checkpoint.TensorInfo`` is one."""

    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...


class Model(Protocol):
    """What a sweep asks of a model: ``population.checkpoint.Checkpoint`` is one."""

    @property
    def tensors(self) -> Mapping[str, Any]: ...


def bytes_needed(model: Model, law: Law, directions: int) -> int:
    """Size of the scratch file for that many directions."""
    size: int = sum(model.tensors[name].size for name in select(model.tensors, law.scope))
    return 4 * directions * size


class SweepSums:
    """Σ_k amplitude_k · z_k of each direction over every tensor in scope, float32, in one scratch file.

    The file has no name, so that nothing is left behind however the process ends; its space is given back
    by ``close`` or at the end of a ``with`` block.

    Attributes:
        directions: as given; their steps play no part in the sums.
        noise_values: how many values of noise were drawn.
    """

    def __init__(self, model: Model, directions: Sequence[Direction], file: int) -> None:
        self.directions = tuple(directions)
        self.law = common_law(directions)
        self.noise_values = 0
        self._tensors: dict[str, Tensor] = {
            n: model.tensors[n] for n in select(model.tensors, self.law.scope)
        }
        self._offsets, self._size = _layout(self._tensors)
        self._file = file
        memory = mmap.mmap(file, 4 * self._size * len(self.directions), prot=mmap.PROT_READ)
        self._sums = np.frombuffer(memory, np.float32).reshape(len(self.directions), self._size)

    @classmethod
    def build(
        cls, model: Model, directions: Sequence[Direction], path: Path, *, threads: int = 1
    ) -> SweepSums:
        """Make all sums in one pass; memory stays at ``BUFFER`` bytes per thread.

        Args:
            model: a checkpoint: tensors by name.
            directions: of one law; where two linear ones share seeds, in the same order.
            path: the scratch file; only its folder matters. A memory-backed one such as /dev/shm is fastest
                if it has room for ``bytes_needed``.
            threads: most threads to use.

        Raises:
            DirectionInvalid: no direction, several laws, or orders of seeds that contradict each other.
            DiskFull: no room for the file.
        """
        seeds = common_order([direction for direction in directions if direction.merge is None])
        size = bytes_needed(model, common_law(directions), len(directions))
        file = _allocate(path, size)
        try:
            sums = cls(model, directions, file)
        except BaseException:
            os.close(file)
            raise
        try:
            sums._fill(seeds, threads)
        except BaseException:
            sums.close()
            raise
        return sums

    def names(self) -> tuple[str, ...]:
        """The tensors that move, in the order of the model."""
        return tuple(self._tensors)

    def read(
        self,
        d: int,
        name: str,
        start: int = 0,
        stop: int | None = None,
        into: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Elements ``start:stop`` of direction ``d``'s sum over a tensor, in ``into`` or a view of the file.

        A view holds the file's space until it is gone.
        """
        first = self._offsets[name]
        stop = self._tensors[name].size if stop is None else stop
        view: NDArray[np.float32] = self._sums[d, first + start : first + stop]
        if into is None:
            return view
        np.copyto(into, view)
        return into

    def realise(
        self,
        d: int,
        step: float,
        name: str,
        out: NDArray[Any],
        base: NDArray[Any],
        *,
        storage: str = "bfloat16",
        threads: int = 1,
    ) -> None:
        """A whole tensor's weights, ``step`` along direction ``d``: what ``perturb`` would make.

        Args:
            out: written; as for ``population.noise.perturb``, on the CPU.
            base: the tensor's stored weights.

        Raises:
            DirectionInvalid: a step that float32 cannot hold, or arrays that do not fit.
        """
        target, source, sums = raw(out), raw(base), self.read(d, name)
        spread(lambda a, b: apply(target[a:b], source[a:b], sums[a:b], step, storage), source.size, threads)

    def close(self) -> None:
        """Give the space back; twice is fine."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._sums = np.empty((0, 0), np.float32)

    def __enter__(self) -> SweepSums:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fill(self, seeds: Sequence[int], threads: int) -> None:
        with ThreadPoolExecutor(threads) as pool:
            if seeds:
                self._fill_linear(seeds, pool)
            for name in self._tensors:
                self._fill_merged(name, threads, pool)

    def _fill_linear(self, seeds: Sequence[int], pool: ThreadPoolExecutor) -> None:
        rows = [d for d, direction in enumerate(self.directions) if direction.merge is None]
        coefficients = _coefficients([self.directions[d] for d in rows], seeds)
        length = max(1, BUFFER // 4 // len(rows))

        def work(piece: tuple[str, int, int]) -> int:
            name, start, stop = piece
            sums = np.zeros((len(rows), stop - start), np.float32)
            shape = self._tensors[name].shape
            drawn = accumulate(sums, self.law, name, shape, seeds, coefficients, start=start)
            for d, row in zip(rows, sums, strict=True):
                self._write(d, name, start, row)
            return drawn

        pieces = [piece for name in self._tensors for piece in self._pieces(name, length)]
        self.noise_values += sum(pool.map(work, pieces))

    def _fill_merged(self, name: str, threads: int, pool: ThreadPoolExecutor) -> None:
        known: Known = {}
        for d, direction in enumerate(self.directions):
            if direction.merge is None:
                continue
            total = TensorSum(direction, name, self._tensors[name].shape, threads=threads, known=known)

            def work(piece: tuple[str, int, int], d: int = d, total: TensorSum = total) -> int:
                _, start, stop = piece
                row = np.empty(stop - start, np.float32)
                drawn = total.fill(row, start)
                self._write(d, name, start, row)
                return drawn

            self.noise_values += total.drawn + sum(pool.map(work, self._pieces(name, BUFFER // 4)))

    def _write(self, d: int, name: str, start: int, row: NDArray[np.float32]) -> None:
        _write(self._file, row, 4 * (d * self._size + self._offsets[name] + start))

    def _pieces(self, name: str, length: int) -> Iterator[tuple[str, int, int]]:
        size = self._tensors[name].size
        for start in range(0, size, length):
            yield name, start, min(start + length, size)


def common_order(directions: Sequence[Direction]) -> list[int]:
    """Every seed once, in an order that agrees with each direction's own.

    Raises:
        DirectionInvalid: there is none; sums in another order would have other last bits.
    """
    graph: TopologicalSorter[int] = TopologicalSorter()
    for direction in directions:
        seeds = [component.seed for component in direction.components]
        graph.add(seeds[0])
        for before, after in pairwise(seeds):
            graph.add(after, before)
    try:
        return list(graph.static_order())
    except CycleError:
        raise DirectionInvalid(
            "directions of one sweep list their shared seeds in different orders",
            hint="list the components of every direction in the order of the population",
        ) from None


def _coefficients(directions: Sequence[Direction], seeds: Sequence[int]) -> NDArray[np.float32]:
    column = {seed: k for k, seed in enumerate(seeds)}
    table = np.zeros((len(directions), len(seeds)), np.float32)
    for row, direction in zip(table, directions, strict=True):
        for component in direction.components:
            row[column[component.seed]] = component.amplitude
    return table


def common_law(directions: Sequence[Direction]) -> Law:
    """The law of all ``directions``; DirectionInvalid if there is none."""
    if not directions:
        raise DirectionInvalid("a sweep over no direction")
    for direction in directions[1:]:
        same_law(directions[0], direction)
    return directions[0].law


def _layout(tensors: Mapping[str, Tensor]) -> tuple[dict[str, int], int]:
    offsets, total = {}, 0
    for name, tensor in tensors.items():
        offsets[name] = total
        total += tensor.size
    return offsets, total


def _allocate(path: Path, size: int) -> int:
    """A file without a name whose space is reserved: writing to it cannot run out of disk."""
    with tempfile.TemporaryFile(dir=path.parent, prefix=f".{path.name}.", buffering=0) as scratch:
        try:
            os.posix_fallocate(scratch.fileno(), 0, size)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise DiskFull(
                f"{path.parent} has no room for the {size / 1e9:.2f} GB of a sweep's sums",
                hint="free space, or sweep fewer directions at a time",
            ) from None
        return os.dup(scratch.fileno())


def _write(file: int, values: NDArray[np.float32], offset: int) -> None:
    view = values.data.cast("B")
    while view:
        count = os.pwrite(file, view, offset)
        view, offset = view[count:], offset + count
