"""The noise contract once more, slowly and plainly: vectorised torch integer operations, any device.

Written from the contract and sharing nothing with the fast kernels but the table and the key; tests hold
the two, and the Triton kernel, against each other. Memory is about 100 bytes per value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from population.direction import Component, Law
from population.philox import FULL, LEFT, MULTIPLIERS, RIGHT, ROUNDS, WEYL, key, table

if TYPE_CHECKING:
    import torch

LOW = 0xFFFFFFFF


def philox(counter: Sequence[torch.Tensor], k0: int, k1: int) -> list[torch.Tensor]:
    """Philox4x32-10 of four int64 tensors of 32-bit words (Salmon et al. 2011)."""
    c0, c1, c2, c3 = counter
    for turn in range(ROUNDS):
        high0, low0 = _multiply(c0, MULTIPLIERS[0])
        high1, low1 = _multiply(c2, MULTIPLIERS[1])
        r0, r1 = (k0 + turn * WEYL[0]) & LOW, (k1 + turn * WEYL[1]) & LOW
        c0, c1, c2, c3 = high1 ^ c1 ^ r0, low1, high0 ^ c3 ^ r1, low0
    return [c0, c1, c2, c3]


def gaussian(
    seed: int, name: str, start: int, stop: int, stream: int = FULL, device: str = "cpu"
) -> torch.Tensor:
    """Elements ``start:stop`` of the noise of (seed, name, stream): float32, (stop − start,)."""
    import torch

    block = torch.arange(start // 8, -(-stop // 8), dtype=torch.int64, device=device)
    zero = torch.zeros_like(block)
    words = philox((block & LOW, block >> 32, zero + stream, zero), *key(seed, name))
    halves = torch.stack([half for word in words for half in (word & 0xFFFF, word >> 16)], dim=1)
    values = torch.from_numpy(np.array(table())).to(device)[halves.reshape(-1)]
    return values[start % 8 :][: stop - start]


def noise(seed: int, law: Law, name: str, shape: Sequence[int], device: str = "cpu") -> torch.Tensor:
    """A full tensor of noise under ``law``: float32, ``shape``."""
    import torch

    name = "" if law.scheme == "tied" else name
    if law.kind == "full" or len(shape) != 2:
        return gaussian(seed, name, 0, math.prod(shape), device=device).reshape(tuple(shape))
    rank = law.rank or 1
    left = gaussian(seed, name, 0, shape[0] * rank, LEFT, device).reshape(shape[0], rank)
    right = gaussian(seed, name, 0, shape[1] * rank, RIGHT, device).reshape(shape[1], rank)
    total = torch.zeros(tuple(shape), device=device)
    for r in range(rank):
        total = total + left[:, r, None] * right[None, :, r]
    return total * (1 / math.sqrt(rank))


def perturbed(
    base: torch.Tensor,
    law: Law,
    name: str,
    components: Sequence[Component],
    step: float = 1.0,
    storage: str = "bfloat16",
) -> torch.Tensor:
    """The realised tensor round(base + step · Σ a_k · z_k) in the storage dtype, shaped like ``base``."""
    import torch

    total = torch.zeros(base.shape, dtype=torch.float32, device=base.device)
    for component in components:
        amplitude = np.float32(component.amplitude) * np.float32(law.scale_of(name))
        total = total + noise(component.seed, law, name, base.shape, str(base.device)) * float(amplitude)
    moved = base.float() + total * float(np.float32(step))
    rounded: torch.Tensor = moved.to(getattr(torch, storage))
    return rounded


def _multiply(a: torch.Tensor, b: int) -> tuple[torch.Tensor, torch.Tensor]:
    """High and low word of a 32 × 32-bit product, in 16-bit limbs: int64 has no room for all 64 bits."""
    low = (a & 0xFFFF) * b
    high = (a >> 16) * b + (low >> 16)
    return high >> 16, ((high & 0xFFFF) << 16) | (low & 0xFFFF)
