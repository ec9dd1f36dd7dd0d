"""The float32 sum that a direction adds to a tensor, linear or merged: the one place that makes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from population.direction import Direction
from population.merge import LEVELS
from population.merging import BLOCK, Float32, Known, merged
from population.noise import accumulate, apply, check_arrays, check_range, perturb
from population.tensors import raw
from population.threads import spread

if TYPE_CHECKING:
    import torch

SKETCH = (256, 256)
"""Shape of the tensor that ``rms`` measures a TIES merge on."""


class TensorSum:
    """Σ of one direction over one tensor, before its step; any range of it costs work in that range only.

    A merged direction's statistics are measured here, once, with two more passes over the noise.

    Args:
        direction: linear or merged; applying the law's scope is the caller's part.
        shape: of the full tensor.
        threads: most threads to use.
        known: statistics that directions over the same tensor, under the same law, share.

    Attributes:
        drawn: values of noise that the statistics took.

    Raises:
        DirectionInvalid: an amplitude that float32 cannot hold, a law that does not fit the tensor.
    """

    def __init__(
        self,
        direction: Direction,
        name: str,
        shape: Sequence[int],
        *,
        threads: int = 1,
        known: Known | None = None,
    ) -> None:
        self._direction, self._name, self._shape, self._threads = direction, name, tuple(shape), threads
        self._merged = (
            merged(direction, name, shape, threads=threads, known=known) if direction.merge else None
        )
        self.drawn = self._merged.drawn if self._merged else 0

    def fill(self, sums: Float32, start: int = 0) -> int:
        """Elements ``start …`` into ``sums``, as many as it has, on the calling thread.

        Returns:
            How many values of noise were drawn.
        """
        if self._merged is not None:
            check_range(self._name, self._shape, start, sums.size)
            return self._merged.fill(sums, start)
        sums[:] = 0
        components = self._direction.components
        seeds, table = [c.seed for c in components], np.array([[c.amplitude for c in components]])
        return accumulate(sums[None], self._direction.law, self._name, self._shape, seeds, table, start=start)

    def realise(
        self,
        out: NDArray[Any] | torch.Tensor,
        base: NDArray[Any] | torch.Tensor,
        *,
        storage: str = "bfloat16",
        start: int = 0,
    ) -> None:
        """``out = round(base + step · Σ)``, with the arrays, rounding and errors of ``noise.perturb``.

        Merged sums are made on the CPU, wherever the weights are.
        """
        direction = self._direction
        if self._merged is None:
            perturb(
                out, base, direction.law, self._name, self._shape, direction.components, direction.step,
                storage=storage, start=start, threads=self._threads,
            )  # fmt: skip
        elif isinstance(out, np.ndarray) or out.device.type == "cpu":
            self._apply(raw(out), raw(base), storage, start)
        else:
            import torch

            host = torch.empty_like(out, device="cpu")
            self._apply(raw(host), raw(base if isinstance(base, np.ndarray) else base.cpu()), storage, start)
            out.copy_(host)

    def _apply(self, target: NDArray[Any], source: NDArray[Any], storage: str, start: int) -> None:
        check_arrays(target, source, storage)

        def work(begin: int, end: int) -> None:
            sums = np.empty(BLOCK, np.float32)
            for at in range(begin, end, BLOCK):
                to = min(at + BLOCK, end)
                part = sums[: to - at]
                self.fill(part, start + at)
                apply(target[at:to], source[at:to], part, self._direction.step, storage)

        spread(work, source.size, self._threads)


def rms(direction: Direction) -> float:
    """Root mean square per weight of what a direction adds, step included, the law's scale left out.

    Linear directions have it from their coefficients. DARE's is that of independent masked members,
    √(Σ (w_k · amplitude_k)² · p̂ · r²) with r = 1/p̂ (1 without rescaling). TIES has no closed form beyond a
    few members: its RMS is measured on a tensor of 65,536 elements that no model has, within 0.3 % (one
    standard deviation), at the cost of three passes over that noise.
    """
    merge = direction.merge
    if merge is None:
        return direction.norm()
    if merge.kind == "ties":
        return abs(direction.step) * _sketched(direction)
    share = merge.level / LEVELS
    parts = [w * c.amplitude for w, c in zip(merge.weights, direction.components, strict=True)]
    total = math.fsum(merge.weights) if merge.normalize else 1.0
    length = math.hypot(*parts) * math.sqrt(share if merge.rescale == "none" else 1 / share)
    return abs(direction.step) * length / total


def _sketched(direction: Direction) -> float:
    plain = replace(direction, law=replace(direction.law, scale=1.0))
    sums = np.empty(math.prod(SKETCH), np.float32)
    TensorSum(plain, "sketch", SKETCH).fill(sums)
    return float(np.sqrt(np.mean(np.square(sums, dtype=np.float64))))
