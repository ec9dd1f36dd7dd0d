"""Reward-weighted means of the elites: CoRP's stage 1, and the same stopped after its first pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from corp.operators.cloud import Cloud, Indices
from corp.operators.proposal import Proposal, components, unit
from corp.operators.weights import CorpWeights, Numbers, corp_weights
from population.direction import Component
from population.proposal import Candidate

# Two settings whose unit vectors differ by less build the same weights: float32 keeps 7 digits of an
# amplitude.
_SAME = 1e-12
# Beyond this many elites the cloud's eigenvalues are left out: 60 ms a setting at 512, but 2 s at 2,000.
_LARGEST_CLOUD = 512


@dataclass(frozen=True, slots=True)
class WeightedMean:
    """The direction of the weighted mean for every (q, beta).

    Attributes:
        cloud: which of the two passes' clouds the mean is taken of.
    """

    name: str
    summary: str
    cloud: Callable[[CorpWeights], Cloud]

    def propose(
        self, rewards: Numbers, candidates: Sequence[Candidate], q: Sequence[float], beta: Sequence[float]
    ) -> list[Proposal]:
        members = components(rewards, candidates)
        sigmas = [member.amplitude for member in members]
        seeds = [member.seed for member in members]
        found: list[_Found] = []
        for quantile, inverse in product(q, beta):
            weights = corp_weights(rewards, sigmas, q=quantile, beta=inverse, axes=seeds)
            _merge(found, _Found(weights.elite, self.cloud(weights)), {"q": quantile, "beta": inverse})
        return [
            Proposal(
                self.name,
                unit([Component(seeds[i], a) for i, a in point.amplitudes()], candidates[0]),
                point.cloud.norm,
                {"settings": point.settings, **_diagnostics(point.cloud)},
            )
            for point in found
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """One distinct direction and every setting that led to it."""

    elite: Indices
    cloud: Cloud
    settings: list[dict[str, float]] = field(default_factory=list)

    def amplitudes(self) -> list[tuple[int, float]]:
        return list(zip(self.elite.tolist(), self.cloud.direction.tolist(), strict=True))

    def same(self, other: _Found) -> bool:
        if not np.array_equal(self.elite, other.elite):
            return False
        return bool(np.all(np.abs(self.cloud.direction - other.cloud.direction) <= _SAME))


def _merge(found: list[_Found], point: _Found, setting: dict[str, float]) -> None:
    """Count a direction once, so that no evaluation is spent on it twice."""
    known = next((other for other in found if other.same(point)), point)
    if known is point:
        found.append(point)
    known.settings.append(setting)


def _diagnostics(cloud: Cloud) -> dict[str, object]:
    small = len(cloud.weights) <= _LARGEST_CLOUD
    return {
        "elites": len(cloud.weights),
        "ess": cloud.ess,
        "largest_weight": float(cloud.weights.max()),
        "kappa": cloud.kappa if math.isfinite(cloud.kappa) else None,
        "effective_rank": cloud.effective_rank() if small else None,
    }
