"""Directions along merges of the elites that are not linear in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from corp.errors import OperatorInvalid
from corp.operators.mean import Elites
from corp.operators.proposal import Proposal
from corp.operators.reliability import effective_size, softmax_with_floor
from corp.operators.scores import Indices, PopulationScores
from corp.operators.settings import OperatorSettings
from population.direction import Component, Direction
from population.merge import Merge
from population.sums import rms

Rule = Callable[[tuple[float, ...]], Merge]
"""The merge rule for these weights."""


def proposals(name: str, scores: PopulationScores, settings: OperatorSettings, rule: Rule) -> list[Proposal]:
    """One merge per quantile, of unit root mean square.

    Members are weighted by the softmax of their shrunken rewards at the largest `beta`, as far as `min_ess`
    lets it: a merge costs passes of its own over the noise, so the temperature is no grid. Steps are the
    rule's own (scale 1) and `radii` times the length of a typical member. `norm` is `population.sums.rms` of
    the rule's own sum: in closed form for DARE, measured on a sketch for TIES.

    Raises:
        OperatorInvalid: too few elites, or members that are not single seeds of their own.
    """
    chosen = Elites.of(scores, settings)
    skipped = {"skipped": [dict(entry) for entry in chosen.skipped]} if chosen.skipped else {}
    return [_proposal(name, scores, settings, rule, q, elite, skipped) for q, elite in chosen.sets]


def _proposal(
    name: str,
    scores: PopulationScores,
    settings: OperatorSettings,
    rule: Rule,
    q: float,
    elite: Indices,
    skipped: Mapping[str, object],
) -> Proposal:
    beta = max(settings.beta)
    weights = softmax_with_floor(beta * scores.shrunken[elite], settings.min_ess)
    whole = Direction(members(scores, elite), scores.law, merge=rule(tuple(weights.tolist())))
    norm = rms(whole)
    parts = tuple(Component(c.seed, c.amplitude / norm) for c in whole.components)
    scales = tuple(sorted({1.0, *(radius * scores.radius / norm for radius in settings.radii)}))
    why = {
        "settings": [{"q": q, "beta": beta}],
        **skipped,
        "elites": len(elite),
        "ess": effective_size(weights),
        "largest_weight": float(weights.max()),
        "density": settings.density,
    }
    return Proposal(name, replace(whole, components=parts), norm, scales, why)


def members(scores: PopulationScores, elite: Indices) -> tuple[Component, ...]:
    """Seed and amplitude of each elite.

    Raises:
        OperatorInvalid: one has several seeds, or two share one: their signs are not independent votes.
    """
    found = [list(scores.perturbations[index].coefficients().items()) for index in elite.tolist()]
    if any(len(pairs) != 1 for pairs in found):
        raise OperatorInvalid(
            "a merge that votes on signs needs members of one seed each; these are combinations",
            hint="use ties and dare on the first, isotropic population",
        )
    seeds = [pairs[0][0] for pairs in found]
    if len(set(seeds)) < len(seeds):
        raise OperatorInvalid(
            "two elites share a seed, so a merge would count it twice",
            hint="use ties and dare on a population of different seeds",
        )
    return tuple(Component(*pairs[0]) for pairs in found)
