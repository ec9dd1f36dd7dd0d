"""Directions along weighted means, one per distinct setting of the grid q x beta."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from corp.operators.cloud import Cloud
from corp.operators.proposal import Proposal, unit
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings

# Two settings whose unit vectors differ by less build the same weights: float32 keeps 7 digits of an
# amplitude.
_SAME = 1e-12
# Beyond this many elites the cloud's eigenvalues are left out: 60 ms a setting at 512, but 2 s at 2,000.
LARGEST_CLOUD = 512

Weigh = Callable[[float, float], Cloud]
"""The weighted elites for one quantile and one inverse temperature."""


def means(name: str, scores: PopulationScores, settings: OperatorSettings, weigh: Weigh) -> list[Proposal]:
    """One proposal per distinct mean; settings that lead to the same direction are listed together.

    Steps are the settings' `scales` in units of the mean's norm (CoRP stage 1, step 6).
    """
    found: list[_Found] = []
    for q, beta in product(settings.q, settings.beta):
        _merge(found, weigh(q, beta), {"q": q, "beta": beta})
    return [
        Proposal(
            name,
            unit(point.cloud.mean, scores),
            point.cloud.norm,
            settings.scales,
            {"settings": point.settings, **diagnostics(point.cloud)},
        )
        for point in found
    ]


def diagnostics(cloud: Cloud) -> dict[str, object]:
    """How concentrated the weights are and how far their mean stands out, JSON-like."""
    small = len(cloud.weights) <= LARGEST_CLOUD
    return {
        "elites": len(cloud.weights),
        "ess": cloud.ess,
        "largest_weight": float(cloud.weights.max()),
        "kappa": cloud.kappa if math.isfinite(cloud.kappa) else None,
        "effective_rank": cloud.effective_rank() if small else None,
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """One distinct mean and every setting that led to it."""

    cloud: Cloud
    settings: list[dict[str, float]] = field(default_factory=list)


def _merge(found: list[_Found], cloud: Cloud, setting: dict[str, float]) -> None:
    """Count a direction once, so that no evaluation is spent on it twice."""
    same = (point for point in found if np.all(np.abs(point.cloud.direction - cloud.direction) <= _SAME))
    known = next(same, None)
    if known is None:
        known = _Found(cloud)
        found.append(known)
    known.settings.append(setting)
