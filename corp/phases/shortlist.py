"""Points ranked on one half of the support split and, those ranked first, tried on the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corp.following import constructive
from corp.linesearch import Point
from corp.operators import PopulationScores
from corp.phases.population import scored
from corp.phases.run import Run
from corp.phases.steps import score_around
from corp.recentering import gain, halves
from population.proposal import Candidate

Prompts = npt.NDArray[np.intp]


def support_halves(run: Run, n: int) -> tuple[Prompts, Prompts]:
    """The two halves of the support split, the same in every round."""
    return halves(n, run.prepared.spec.population.seed)


def on(scores: PopulationScores, prompts: Prompts) -> PopulationScores:
    """The scores on some prompts, of the candidates that were judged on any of them."""
    values = scores.values[:, prompts]
    kept = np.flatnonzero(~np.isnan(values).all(axis=1))
    return PopulationScores(
        tuple(scores.keys[i] for i in kept),
        tuple(scores.perturbations[i] for i in kept),
        scores.sigmas[kept],
        values[kept],
        scores.base[prompts],
        scores.success[kept][:, prompts],
        scores.base_success[prompts],
    )


def shortlist(run: Run, phase: str, centre: Candidate, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Each point's tally on the first half of support, best first, and on the second of the best few.

    One has passed where its constructive score on the second half is positive and so is the lower bound of
    its paired gain there. Only a few are tried: of 63 proposals without effect, one that passes is as good
    as certain at z = 1.
    """
    spec = run.prepared.spec.recenter
    candidates = [point.candidate for point in points]
    table = score_around(run, phase, "support", centre, candidates)
    directions = [candidate.direction for candidate in candidates if candidate.direction is not None]
    scores = scored(table, directions, candidates)
    first, second = support_halves(run, scores.values.shape[1])
    rows = ranked(points, tally(scores, first, spec.regress_weight, spec.z))
    later = tally(scores, second, spec.regress_weight, spec.z)
    for row in rows[: spec.shortlist]:
        found = later[row["point"]]
        row |= {"second": found, "passed": found["score"] > 0 and (found["lower_bound"] or 0.0) > 0}
    return rows


def tally(
    scores: PopulationScores, prompts: Prompts, regress_weight: float, z: float
) -> list[dict[str, Any]]:
    """What each candidate changes against the centre on some prompts."""
    fixes, regressions, both = (
        flags[:, prompts] for flags in (scores.fixes, scores.regressions, scores.judged)
    )
    return [
        {
            "score": float(score),
            "fixes": int(fixed),
            "regressions": int(broken),
            **gain(scores.base[prompts], values, z).to_json(),
        }
        for score, fixed, broken, values in zip(
            constructive(fixes, regressions, both, regress_weight),
            fixes.sum(axis=1),
            regressions.sum(axis=1),
            scores.values[:, prompts],
            strict=True,
        )
    ]


def ranked(points: Sequence[Point], first: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Best constructive score first, then fixes less regressions, then the shorter step."""

    def place(i: int) -> tuple[float, int, float, int]:
        net = first[i]["fixes"] - first[i]["regressions"]
        return -first[i]["score"], -net, points[i].candidate.sigma, i

    return [
        {"point": i, "proposal": points[i].proposal, "scale": points[i].scale, "first": first[i]}
        for i in sorted(range(len(points)), key=place)
    ]
