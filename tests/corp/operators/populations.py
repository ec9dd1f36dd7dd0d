"""Scored populations whose truth is known, and stage 1 of the paper on explicit vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from corp.operators import OperatorSettings, PopulationScores
from population.direction import Component, Direction, Law

QS = (0.5, 0.7, 0.9)
BETAS = (0.5, 1, 2, 5, 10, 20, 50)
SIGMAS = (5e-4, 1e-3, 2e-3)
LAW = Law()
ANY_SIZE = OperatorSettings(min_elites=1)


def marked(
    keys: Sequence[str],
    perturbations: Sequence[Direction],
    sigmas: np.ndarray,
    values: np.ndarray,
    base: np.ndarray,
    threshold: float = 1.0,
) -> PopulationScores:
    """Scores whose values are successes from `threshold` on."""
    with np.errstate(invalid="ignore"):
        passed = values >= threshold, base >= threshold
    return PopulationScores(tuple(keys), tuple(perturbations), sigmas, values, base, *passed)


def population(values: np.ndarray, sigmas: Sequence[float] = SIGMAS, base: np.ndarray | None = None):
    """Members of one seed each with sigmas in turn and these values, shape (N, M)."""
    n, m = values.shape
    sigma = np.resize(np.array(sigmas, float), n)
    directions = tuple(Direction((Component(1000 + i, s),), LAW) for i, s in enumerate(sigma))
    return marked(
        tuple(f"c{i:05d}" for i in range(n)),
        directions,
        sigma,
        np.asarray(values, float),
        np.zeros(m) if base is None else np.asarray(base, float),
    )


def verdicts(n: int, m: int = 96, seed: int = 0, spread: float = 0.5) -> np.ndarray:
    """Binary verdicts of members that differ in ability (standard deviation in logits), shape (n, m)."""
    rng = np.random.default_rng(seed)
    logit = spread * rng.normal(size=(n, 1)) + rng.normal(size=(1, m)) - 0.3
    return (rng.random((n, m)) < 1 / (1 + np.exp(-logit))).astype(float)


def with_rewards(rewards: Sequence[float], m: int = 100) -> np.ndarray:
    """Verdicts whose row means are `rewards`, multiples of 1 / m; the easiest prompts come first."""
    return (np.arange(m)[None, :] < np.round(np.array(rewards) * m)[:, None]).astype(float)


def around_a_cloud(n: int, m: int = 60, seed: int = 0, shared: int = 4) -> PopulationScores:
    """Members that share `shared` seeds and have one of their own each, as recentering samples them."""
    rng = np.random.default_rng(seed)
    members = [
        Direction(
            (
                *(Component(k, float(a)) for k, a in enumerate(rng.normal(size=shared) * 1e-3)),
                Component(100 + i, 1e-3),
            ),
            LAW,
        )
        for i in range(n)
    ]
    plain = population(verdicts(n, m, seed), (1e-3,))
    return marked(plain.keys, members, plain.sigmas, plain.values, plain.base)


def permuted(scores: PopulationScores, order: Sequence[int]) -> PopulationScores:
    return PopulationScores(
        tuple(scores.keys[i] for i in order),
        tuple(scores.perturbations[i] for i in order),
        scores.sigmas[list(order)],
        scores.values[list(order)],
        scores.base,
        scores.success[list(order)],
        scores.base_success,
    )


def explicit(scores: PopulationScores) -> np.ndarray:
    """Every member as a vector with one dimension per seed in ascending order, shape (N, S)."""
    seeds = sorted({c.seed for member in scores.perturbations for c in member.components})
    rows = np.zeros((len(scores.keys), len(seeds)))
    for i, member in enumerate(scores.perturbations):
        for component in member.components:
            rows[i, seeds.index(component.seed)] = member.step * component.amplitude
    return rows


def vector(direction: Direction, scores: PopulationScores) -> np.ndarray:
    """A direction in the axes of `explicit`."""
    seeds = sorted({c.seed for member in scores.perturbations for c in member.components})
    found = direction.coefficients()
    assert set(found) <= set(seeds)
    return np.array([found.get(seed, 0.0) for seed in seeds])


def alpha_by_anova(values: np.ndarray) -> float:
    """Cronbach's alpha from item variances, without invalid verdicts."""
    m = values.shape[1]
    items = sum(np.var(values[:, j], ddof=1) for j in range(m))
    return m / (m - 1) * (1 - items / np.var(values.sum(axis=1), ddof=1))


def z(x: np.ndarray) -> np.ndarray:
    spread = np.sqrt(np.mean((x - np.mean(x)) ** 2))
    return (x - np.mean(x)) / spread if spread > 1e-12 else np.zeros(len(x))


def quantile_elites(rewards, q):
    """Members at or above the q-quantile by linear interpolation, by hand."""
    ordered = np.sort(rewards)
    place = q * (len(rewards) - 1)
    below = math.floor(place)
    above = min(below + 1, len(rewards) - 1)
    threshold = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    return [i for i, reward in enumerate(rewards) if reward >= threshold - 1e-15]


def stage1_by_hand(rewards, vectors, q, beta):
    """The paper's stage 1 on any vectors: elites, the weights of both passes, the mean."""
    elite = quantile_elites(rewards, q)
    points = vectors[elite]
    pass1 = softmax(beta * rewards[elite])
    pass2 = softmax(beta * rewards[elite] + compatibility(pass1, points))
    mean = sum(w * a for w, a in zip(pass2, points, strict=True))
    return elite, pass1, pass2, mean


def cloud_by_hand(weights, points):
    """The matrix C of weighted points around their mean."""
    mean = sum(w * a for w, a in zip(weights, points, strict=True))
    return sum(w * np.outer(a - mean, a - mean) for w, a in zip(weights, points, strict=True))


def compatibility(weights, points):
    """z-scored cosine with the weighted mean, less z-scored squared distance from its line."""
    provisional = sum(w * a for w, a in zip(weights, points, strict=True))
    axis = provisional / np.linalg.norm(provisional)
    alignment = np.array([a @ provisional / np.linalg.norm(a) / np.linalg.norm(provisional) for a in points])
    dispersion = np.array([np.linalg.norm(a - (a @ axis) * axis) ** 2 for a in points])
    scale = np.max(np.linalg.norm(points, axis=1)) ** 2
    return z(alignment) - z(dispersion / scale)


def floored(logits, min_ess):
    """softmax at the lowest temperature that leaves that effective sample size, by root finding."""
    if min_ess >= len(logits):
        return np.full(len(logits), 1 / len(logits))
    if 1 / np.sum(softmax(logits) ** 2) >= min_ess:
        return softmax(logits)
    root = brentq(
        lambda t: 1 / np.sum(softmax(logits / np.exp(t)) ** 2) - min_ess, 0, 30, xtol=1e-14, rtol=1e-14
    )
    return softmax(logits / np.exp(root))
