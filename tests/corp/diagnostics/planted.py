"""Populations of real seeded noise whose structure is known, on a model of 6,240 weights."""

from __future__ import annotations

import numpy as np

from corp.operators import PopulationScores
from population.direction import Component, Direction, Law
from population.header import TensorInfo
from population.proposal import isotropic
from tests.corp.operators.populations import marked

TENSORS = {
    "model.layers.0.mlp.up_proj.weight": TensorInfo(
        "model.layers.0.mlp.up_proj.weight", "float32", (64, 96), "f", 0, 4 * 64 * 96
    ),
    "model.norm.weight": TensorInfo("model.norm.weight", "float32", (96,), "f", 4 * 64 * 96, 4 * 96),
}
WEIGHTS = 64 * 96 + 96
SIGMA = 0.01
FIRST_SHARED = 2**40


def binary(rng: np.random.Generator, chance: np.ndarray, prompts: int = 100) -> np.ndarray:
    return (rng.random((len(chance), prompts)) < chance[:, None]).astype(float)


def scored(directions: list[Direction], values: np.ndarray, sigmas: np.ndarray | None = None):
    n = len(directions)
    return marked(
        tuple(f"c{i:05d}" for i in range(n)),
        tuple(directions),
        np.full(n, SIGMA) if sigmas is None else sigmas,
        values,
        np.zeros(values.shape[1]),
    )


def independent(n: int, seed: int, law: Law | None = None) -> PopulationScores:
    """Two sigmas, and rewards that know nothing of the noise."""
    candidates = isotropic(n, (SIGMA, 2 * SIGMA), seed, law or Law())
    rng = np.random.default_rng(seed)
    directions = [c.direction for c in candidates if c.direction is not None]
    return scored(directions, binary(rng, np.full(n, 0.4)), np.array([c.sigma for c in candidates]))


def sharing(n: int, seed: int, dimensions: int, drift: float, rewarded: bool) -> PopulationScores:
    """Members with parts along `dimensions` common seeds, normal with mean `drift`.

    Args:
        rewarded: half of the members have them and are better for it; otherwise all have them, and rewards
            know nothing of it.
    """
    rng = np.random.default_rng(seed)
    good = rng.random(n) < 0.5
    directions = []
    for index, candidate in enumerate(isotropic(n, (SIGMA,), seed, Law())):
        assert candidate.direction is not None
        parts = SIGMA * (drift + rng.standard_normal(dimensions)) if good[index] or not rewarded else ()
        shared = [Component(FIRST_SHARED + k, float(part)) for k, part in enumerate(parts)]
        directions.append(Direction((*candidate.direction.components, *shared), Law()))
    chance = np.where(good, 0.6, 0.4) if rewarded else np.full(n, 0.4)
    return scored(directions, binary(rng, chance))
