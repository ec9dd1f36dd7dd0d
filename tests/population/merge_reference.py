"""TIES and DARE on whole tensors, written from their definitions with sorted arrays and the slow noise."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.special import ndtri

from population.direction import Direction
from population.noise_reference import gaussian, noise


def merged_sum(direction: Direction, name: str, shape: tuple[int, ...], exact: bool = False) -> np.ndarray:
    """The sum of a merged direction, step left out: float32 operations in order, or float64 if ``exact``."""
    kind = np.float64 if exact else np.float32
    scale = np.float32(direction.law.scale_of(name))
    drawn = [noise(c.seed, direction.law, name, shape).numpy().reshape(-1) for c in direction.components]
    amplitudes = [np.float32(c.amplitude) * scale for c in direction.components]
    if direction.merge.kind == "dare":
        return _dare(direction, name, drawn, amplitudes, kind)
    return _ties(direction.merge, drawn, amplitudes, kind)


def kept_by_ties(z: np.ndarray, density: float) -> np.ndarray:
    keep = max(1, math.floor(density * z.size))
    mask = np.zeros(z.size, bool)
    mask[np.lexsort((np.arange(z.size), -np.abs(z)))[:keep]] = True  # magnitude down, then index up
    return mask


def kept_by_dare(seed: int, name: str, size: int, density: float) -> np.ndarray:
    """The sixteen bits behind each value of stream 3, below the level: by the quantile, not by the table."""
    values = gaussian(seed, name, 0, size, stream=3).numpy()
    spread = math.sqrt(np.mean(ndtri((np.arange(65536) + 0.5) / 65536) ** 2))
    level = round(density * 65536)
    return values < ndtri(level / 65536) / spread


def _ties(merge, drawn, amplitudes, kind):
    trimmed = [
        kind(a) * z.astype(kind) * kept_by_ties(z, merge.density)
        for z, a in zip(drawn, amplitudes, strict=True)
    ]
    weights = [kind(np.float32(w)) for w in merge.weights]
    votes = np.zeros(drawn[0].size, kind)
    for t, w in zip(trimmed, weights, strict=True):
        votes = votes + (t if merge.sign_weighting == "paper" else w * t)
    sign = np.where(votes >= 0, 1, -1)
    total, divisor = np.zeros(votes.size, kind), np.zeros(votes.size, kind)
    for t, w in zip(trimmed, weights, strict=True):
        agrees = np.sign(t) == sign
        total = total + np.where(agrees, w * t, kind(0))
        divisor = divisor + np.where(agrees, w, kind(0))
    return total / np.where(divisor == 0, kind(1), divisor) if merge.normalize else total


def _dare(direction, name, drawn, amplitudes, kind):
    merge, total = direction.merge, np.zeros(drawn[0].size, kind)
    noise_name = "" if direction.law.scheme == "tied" else name
    for component, z, a, w in zip(direction.components, drawn, amplitudes, merge.weights, strict=True):
        mask = kept_by_dare(component.seed, noise_name, z.size, merge.density)
        kept = math.fsum(np.abs(z[mask].astype(np.float64)))
        ratio = {
            "l1": math.fsum(np.abs(z.astype(np.float64))) / kept if kept else 1.0,
            "inverse": 65536 / round(merge.density * 65536),
            "none": 1.0,
        }[merge.rescale]
        divisor = math.fsum(merge.weights) if merge.normalize else 1.0
        coefficient = kind(float(a) * w * ratio / divisor)
        total = total + np.where(mask, coefficient * z.astype(kind), kind(0))
    return total


def merged_weights(base: torch.Tensor, direction: Direction, name: str, storage: str) -> torch.Tensor:
    """round(base + step · sum), shaped like ``base``, each operation in float32."""
    total = torch.from_numpy(merged_sum(direction, name, tuple(base.shape))).reshape(base.shape)
    rounded: torch.Tensor = (base.float() + total * float(np.float32(direction.step))).to(
        getattr(torch, storage)
    )
    return rounded
