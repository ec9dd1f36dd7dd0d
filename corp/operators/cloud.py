"""Weighted perturbations as points around their mean, one axis per seed.

Independent Gaussian draws in a model's dimension are orthogonal for all that matters: their cosine is about
3e-5 at 1e9 weights. So a population of single seeds has no geometry beyond its sigmas; a population sampled
around an earlier cloud shares axes and has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Cloud:
    """K weighted members a_i.

    Attributes:
        weights: sum to 1, shape (K,).
        points: the members' amplitudes along S seeds, sparse, shape (K, S).
    """

    weights: Vector
    points: csr_array

    @cached_property
    def mean(self) -> Vector:
        """The weighted mean, shape (S,)."""
        mean: Vector = np.asarray(self.points.T @ self.weights, np.float64)
        return mean

    @cached_property
    def norm(self) -> float:
        """Length of the mean."""
        return float(np.linalg.norm(self.mean))

    @property
    def direction(self) -> Vector:
        """The unit vector mean / norm, shape (S,)."""
        return self.mean / self.norm

    @property
    def ess(self) -> float:
        """Effective sample size, 1 / sum of squared weights, between 1 and K."""
        return float(1 / np.sum(self.weights**2))

    @cached_property
    def lengths(self) -> Vector:
        """Squared length of each member, shape (K,)."""
        squared: Vector = np.asarray((self.points * self.points).sum(axis=1), np.float64).ravel()
        return squared

    @property
    def trace(self) -> float:
        """tr C of the cloud C = sum of w_i (a_i - mean)(a_i - mean)ᵀ."""
        return max(float(self.weights @ self.lengths) - self.norm**2, 0.0)

    @property
    def kappa(self) -> float:
        """norm² / tr C: how far the mean stands out of its cloud; infinite for a single member."""
        return self.norm**2 / self.trace if self.trace > 0 else math.inf

    @cached_property
    def _along(self) -> Vector:
        """Length of each member's part along the mean, shape (K,)."""
        along: Vector = np.asarray(self.points @ self.mean, np.float64) / self.norm
        return along

    @property
    def alignment(self) -> Vector:
        """Cosine of each member with the mean, shape (K,)."""
        return self._along / np.sqrt(self.lengths)

    @property
    def dispersion(self) -> Vector:
        """Squared length of each member's part orthogonal to the mean, shape (K,)."""
        return np.maximum(self.lengths - self._along**2, 0)

    def principal(self, rank: int) -> tuple[Vector, Vector]:
        """The leading eigenvalues of C, shape (r,), and eigenvectors, rows of shape (r, S), largest first.

        r is `rank` or the number of positive eigenvalues, whichever is smaller. An eigendecomposition of
        K x K: 20 ms at K = 250, 2 s at K = 2,000. The sign of a vector is such that its largest entry is
        positive, so that equal clouds give equal vectors.
        """
        values, vectors = np.linalg.eigh(self._gram())
        order = [i for i in np.argsort(-values, kind="stable")[:rank] if values[i] > values.max() * 1e-12]
        root = np.sqrt(self.weights)
        rows = np.array([self._axis(root * vectors[:, i]) / math.sqrt(values[i]) for i in order])
        signs = np.sign(rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)]) if len(rows) else 1.0
        return values[order], rows * np.reshape(signs, (-1, 1))

    def effective_rank(self) -> float:
        """exp of the entropy of C's eigenvalues / tr C; 0 for a single member, which has no cloud."""
        if self.trace <= 0:
            return 0.0
        share = np.linalg.eigvalsh(self._gram()) / self.trace
        share = share[share > 0]
        return float(np.exp(-np.sum(share * np.log(share))))

    def _gram(self) -> Vector:
        """Products of the weighted, centred members, shape (K, K): C's positive eigenvalues are its own."""
        root = np.sqrt(self.weights)
        products = (self.points @ self.points.T).toarray()
        along = self._along * self.norm
        centred = products - along[:, None] - along[None, :] + self.norm**2
        gram: Vector = root[:, None] * centred * root[None, :]
        return gram

    def _axis(self, coefficients: Vector) -> Vector:
        """The combination of the centred members, shape (S,)."""
        axis: Vector = np.asarray(self.points.T @ coefficients) - coefficients.sum() * self.mean
        return axis
