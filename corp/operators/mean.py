"""Directions along weighted means of elites: which settings are tried, and which of them coincide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from corp.errors import OperatorInvalid
from corp.operators.cloud import Cloud, Indices, Vector
from corp.operators.proposal import Proposal, unit
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from corp.operators.weights import elites

# Two settings whose unit vectors differ by less build the same weights: float32 keeps 7 digits of an
# amplitude.
_SAME = 1e-12
# Beyond this many elites the cloud's eigenvalues are left out: 60 ms a setting at 512, but 2 s at 2,000.
LARGEST_CLOUD = 512

Setting = dict[str, float]


@dataclass(frozen=True, slots=True)
class Elites:
    """The elites that the quantiles of the settings leave.

    Attributes:
        sets: quantile and members, ascending in the population.
        skipped: quantiles that leave too few, and how many, JSON-like.
    """

    sets: tuple[tuple[float, Indices], ...]
    skipped: tuple[Mapping[str, float], ...]

    @classmethod
    def of(cls, scores: PopulationScores, settings: OperatorSettings, merit: Vector | None = None) -> Elites:
        """The best by `merit`, shape (N,); by reward where there is none.

        Raises:
            OperatorInvalid: every quantile leaves fewer than `min_elites`.
        """
        found = [(q, elites(scores.rewards if merit is None else merit, q)) for q in settings.q]
        enough = tuple((q, members) for q, members in found if len(members) >= settings.min_elites)
        skipped = tuple(
            {"q": q, "elites": len(members)} for q, members in found if len(members) < settings.min_elites
        )
        if not enough:
            raise OperatorInvalid(
                f"at most {max(entry['elites'] for entry in skipped)} of {len(scores.keys)} candidates are"
                f" elites, fewer than min_elites = {settings.min_elites}",
                hint="raise population.size, or lower consolidate.q or consolidate.min_elites",
            )
        return cls(enough, skipped)


@dataclass(frozen=True, slots=True, eq=False)
class Mean:
    """One distinct direction and every setting that led to it.

    Attributes:
        amplitudes: along the population's seeds, shape (S,).
        cloud: the weighted elites that it was made from.
    """

    amplitudes: Vector
    cloud: Cloud
    settings: list[Setting] = field(default_factory=list)

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.amplitudes))


def distinct(found: Iterable[tuple[Setting, Mean]]) -> list[Mean]:
    """Every direction once, so that no evaluation is spent on it twice."""
    means: list[Mean] = []
    for setting, mean in found:
        known = next((other for other in means if _same(other, mean)), None)
        if known is None:
            means.append(mean)
        (known or mean).settings.append(setting)
    return means


def grid(chosen: Elites, settings: OperatorSettings, weigh: Callable[[Indices, float], Cloud]) -> list[Mean]:
    """The distinct means over q x beta."""
    clouds = (
        ({"q": q, "beta": beta}, weigh(members, beta)) for q, members in chosen.sets for beta in settings.beta
    )
    return distinct((setting, Mean(cloud.mean, cloud)) for setting, cloud in clouds)


def stretched(
    name: str, scores: PopulationScores, means: Iterable[Mean], chosen: Elites, settings: OperatorSettings
) -> list[Proposal]:
    """Steps of `scales` times the mean's own length (CoRP stage 1, step 6)."""
    return [
        Proposal(name, unit(mean.amplitudes, scores), mean.norm, settings.scales, why(mean, chosen))
        for mean in means
    ]


def at_radii(
    name: str, scores: PopulationScores, means: Iterable[Mean], chosen: Elites, settings: OperatorSettings
) -> list[Proposal]:
    """Steps of `radii` times the length of a typical member."""
    return [
        Proposal(name, unit(mean.amplitudes, scores), scores.radius, settings.radii, why(mean, chosen))
        for mean in means
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


def why(mean: Mean, chosen: Elites) -> dict[str, object]:
    skipped = {"skipped": [dict(entry) for entry in chosen.skipped]} if chosen.skipped else {}
    return {"settings": mean.settings, **skipped, **diagnostics(mean.cloud)}


def _same(one: Mean, other: Mean) -> bool:
    return bool(np.all(np.abs(one.amplitudes / one.norm - other.amplitudes / other.norm) <= _SAME))
