"""Sign patterns and resamples of paired differences: a permutation test and a bootstrap-t interval."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

EXACT = 20
"""Up to this many differing prompts all 2^k sign patterns are counted, beyond it a sample of them."""
PATTERNS = 99_999
"""Sampled sign patterns: the smallest p-value is 1e-5, and its standard error at 0.0025 is 0.00016."""
RESAMPLES = 9_999
CHUNK = 2_000_000
"""Numbers held at once, so that a long gate split does not take gigabytes."""


def sign_flip(differences: Vector, seed: int | np.random.SeedSequence = 0) -> float:
    """Two-sided p-value of "base and candidate could be exchanged on any prompt"; 1 where they never differ.

    Under that hypothesis each difference has either sign with probability 1/2. The mean and the t statistic
    give the same test, since flipping signs leaves the sum of squares alone. All patterns are counted up to
    20 differing prompts; beyond, b of m sampled patterns reach the observed mean and p = (b + 1) / (m + 1),
    which keeps the level exactly (Phipson and Smyth 2010).
    """
    nonzero = differences[differences != 0]
    if not nonzero.size:
        return 1.0
    # A pattern that reaches the observed sum but for rounding counts as reaching it.
    reached = abs(nonzero.sum()) - 1e-9 * np.abs(nonzero).sum()
    if nonzero.size <= EXACT:
        return float(np.mean(np.abs(all_sums(nonzero)) >= reached))
    found = sum(int(np.sum(np.abs(sums) >= reached)) for sums in sampled_sums(nonzero, seed))
    return (found + 1) / (PATTERNS + 1)


def all_sums(values: Vector) -> Vector:
    """Sums under every pattern of signs with the first one kept, shape (2^(k-1),)."""
    sums = values[:1]
    for value in values[1:]:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def sampled_sums(values: Vector, seed: int | np.random.SeedSequence) -> list[Vector]:
    """Sums under random signs. Eight signs are one byte, which looks up their sum in a table."""
    rng = np.random.default_rng(seed)
    padded = np.concatenate([values, np.zeros(-len(values) % 8)]).reshape(-1, 8)
    signs = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1
    tables = padded @ signs.T
    groups = np.arange(len(padded))
    sums = []
    for size in _chunks(PATTERNS, len(padded)):
        patterns = rng.integers(256, size=(size, len(padded)), dtype=np.uint8)
        sums.append(tables[groups, patterns].sum(axis=1))
    return sums


def bootstrap_t(differences: Vector, seed: int | np.random.SeedSequence = 0) -> Vector:
    """Studentised deviations of resampled means, sorted, shape (RESAMPLES,); infinite where nothing varies.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), 12.5.
    """
    rng, n = np.random.default_rng(seed), len(differences)
    still = 1e-12 * np.abs(differences).max(initial=0.0)
    pivots = []
    for size in _chunks(RESAMPLES, n):
        drawn = differences[rng.integers(n, size=(size, n), dtype=np.int32)]
        means, errors = drawn.mean(axis=1), drawn.std(axis=1, ddof=1) / math.sqrt(n)
        away = means - differences.mean()
        away[np.abs(away) <= still] = 0.0
        vary = errors > still
        pivot = np.where(away == 0, 0.0, np.copysign(np.inf, away))
        np.divide(away, errors, out=pivot, where=vary)
        pivots.append(pivot)
    return np.sort(np.concatenate(pivots))


def interval(differences: Vector, pivots: Vector, level: float) -> tuple[float, float]:
    """Bootstrap-t interval of the mean with confidence 1 - `level`, kept inside the observed range."""
    mean, error = differences.mean(), differences.std(ddof=1) / math.sqrt(len(differences))
    least, most = float(differences.min()), float(differences.max())
    if error <= 1e-12 * max(abs(least), abs(most)):
        return float(mean), float(mean)
    above = np.quantile(pivots, 1 - level / 2, method="higher")
    below = np.quantile(pivots, level / 2, method="lower")
    return max(least, float(mean - above * error)), min(most, float(mean - below * error))


def _chunks(total: int, width: int) -> list[int]:
    """Sizes that add up to `total`, each with at most about CHUNK numbers."""
    size = max(1, CHUNK // width)
    return [min(size, total - start) for start in range(0, total, size)]
