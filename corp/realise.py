"""The weights base + direction, streamed: what the export writes and what the audit compares with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from population.checkpoint import RAW, Checkpoint
from population.direction import Direction
from population.errors import DirectionInvalid, ModelUnsupported
from population.noise import apply
from population.scope import select
from population.sums import TensorSum
from population.tensors import bits

CHUNK = 1 << 20
"""Elements in flight per buffer. Larger ones only cost memory; at 64 Ki system calls begin to show."""

EXPONENT = {"bfloat16": 0x7F80, "float16": 0x7C00, "float32": 0x7F800000}  # all ones: infinity or NaN


class Realised:
    """A checkpoint's weights under a direction, each rounded once into ``storage``.

    Holds two chunks of results and one of the base, whatever the model's size; a merged direction takes some
    more noise for its statistics, and up to 0.4 % of the tensor at hand.

    Args:
        threads: most threads that make noise.

    Raises:
        DirectionInvalid: the law's scope selects nothing.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        direction: Direction,
        storage: str,
        *,
        threads: int = 1,
        chunk: int = CHUNK,
    ) -> None:
        self._checkpoint, self._direction, self._storage, self._threads = (
            checkpoint,
            direction,
            storage,
            threads,
        )
        self._moved = frozenset(select(checkpoint.tensors, direction.law.scope))
        self._chunk = chunk
        self._outs = [np.empty(chunk, RAW[storage]) for _ in range(2)]
        self._base = np.empty(chunk, np.uint32)
        self._turn = 0
        # Adding −0 leaves every number as it is, −0 too: apply() then only rounds.
        self._nothing = np.full(chunk, -0.0, np.float32)

    def chunks(self, name: str) -> Iterator[tuple[int, NDArray[Any]]]:
        """Tensor ``name`` as (first element, values) in order; bfloat16 as uint16.

        The values' memory is used again two chunks later.

        Raises:
            ModelUnsupported: the base has a NaN or an infinity.
            DirectionInvalid: a weight outgrows the storage dtype.
            ModelMissing: the base's file is gone or short.
        """
        info = self._checkpoint.tensors[name]
        moved = self._sum(name) if name in self._moved else None
        for start in range(0, info.size, self._chunk):
            stop = min(start + self._chunk, info.size)
            base = self._base.view(RAW[info.dtype])[: stop - start]
            self._checkpoint.read(name, start, stop, base)
            self._turn ^= 1
            out = self._outs[self._turn][: stop - start]
            self._fill(out, base, moved, info.dtype, start)
            self._check(out, base, name)
            yield start, out

    def _sum(self, name: str) -> TensorSum:
        return TensorSum(self._direction, name, self._checkpoint.tensors[name].shape, threads=self._threads)

    def _fill(
        self, out: NDArray[Any], base: NDArray[Any], moved: TensorSum | None, dtype: str, start: int
    ) -> None:
        if moved is not None:
            moved.realise(out, base, storage=self._storage, start=start)
        elif dtype == self._storage:
            out[:] = base
        else:
            apply(out, base, self._nothing[: out.size], 1.0, self._storage)

    def _check(self, out: NDArray[Any], base: NDArray[Any], name: str) -> None:
        if _finite(out, self._storage):
            return
        info = self._checkpoint.tensors[name]
        if not _finite(base, info.dtype):
            raise ModelUnsupported(
                f"{self._checkpoint.path / info.file}: tensor {name!r} holds a NaN or an infinity",
                hint="the base checkpoint is broken: fetch or save it again",
            )
        raise DirectionInvalid(
            f"weights of {name!r} outgrow {self._storage}", hint="store in bfloat16 or float32"
        )


def _finite(values: NDArray[Any], dtype: str) -> bool:
    pattern = bits(values)
    mask = pattern.dtype.type(EXPONENT[dtype])
    return not bool(np.any((pattern & mask) == mask))
