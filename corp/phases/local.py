"""CoRP's stage 2 (arXiv 2605.31494): a population that leans towards what helped before.

The support split is cut in halves. Everything that shapes a proposal (the operators' rewards, the search
distribution, the ranking) reads the first; the second is left for the proposals that were ranked first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from corp.following import axes_of, constructive, ess_target, follow, next_iota
from corp.linesearch import Point, choose, line
from corp.operators import PopulationScores, Proposal
from corp.operators.proposal import unit
from corp.phases.consolidate import Evaluation, describe, propose
from corp.phases.population import population_scores, scored
from corp.phases.run import Run
from corp.phases.shortlist import on, shortlist, support_halves
from corp.phases.steps import Step, record, score_around, try_step
from corp.recentering import State
from population.local import local
from population.proposal import Candidate, around, isotropic, moved

MULTIPLES = (0.5, 1.0, 2.0)
"""Steps that are tried in units of the last one and, on select, in units of the one that passed."""

SHRINK = 0.5
"""What a rejection makes of the population's sigma."""


def leaning(run: Run, state: State) -> State:
    """The state with the sigma and the axes of those candidates of the search that helped."""
    scores = first_half(run, population_scores(run))
    spec = run.prepared.spec.recenter
    cloud = follow(scores, spec.regress_weight, 2 * ess_target(1, spec.rounds))
    if cloud is None:
        return replace(state, sigma=scores.radius)
    sigma = float(np.sqrt(cloud.weights @ cloud.lengths))
    return replace(state, sigma=sigma, axes=axes_of(cloud, scores.seeds, spec.rank))


def local_round(run: Run, state: State) -> dict[str, Any]:
    """Score a local population, consolidate it, and move where both halves and select say so."""
    phase = f"recenter-{state.round + 1}"
    scores = local_scores(run, state, phase)
    evaluation = Evaluation(run, phase, state.centre)
    proposals, silent = proposed(run, state, scores, evaluation)
    points = line(proposals, state.centre.direction)
    rows = shortlist(run, phase, state.centre, points) if points else []
    passed = next((points[row["point"]] for row in rows if row.get("passed")), None)
    step = search_line(run, state, phase, proposals, passed) if passed else None
    reason = "no proposal passed on the second half of support" if points else "; ".join(silent.values())
    details: dict[str, Any] = {
        "iota": state.iota,
        "candidates": run.prepared.spec.recenter.population + len(points),
        "evaluations": evaluation.count + (len(MULTIPLES) if passed else 0),
        "proposals": [describe(proposal) for proposal in proposals],
        "points": rows,
        "silent": silent,
        "state": next_state(run, state, scores, step).to_json(),
    }
    return record(state.round + 1, state.sigma, step, reason, **details)


def local_scores(run: Run, state: State, phase: str) -> PopulationScores:
    """The round's population on the first half of support; all of it is scored and kept."""
    members = local_members(run, state)
    candidates = around(state.centre, members, f"r{state.round + 1}-")
    table = score_around(run, phase, "support", state.centre, candidates)
    perturbations = [member.direction for member in members if member.direction is not None]
    return first_half(run, scored(table, perturbations, candidates))


def local_members(run: Run, state: State) -> tuple[Candidate, ...]:
    """The round's perturbations; isotropic ones where nothing is known to lean towards."""
    spec, law = run.prepared.spec, run.prepared.law
    size, seed = spec.recenter.population, spec.population.seed
    first = spec.population.size + state.round * size
    if state.axes is None:
        return isotropic(size, [state.sigma], seed, law, first=first)
    return local(size, state.sigma, state.iota, state.axes, seed, law, first=first)


def first_half(run: Run, scores: PopulationScores) -> PopulationScores:
    return on(scores, support_halves(run, scores.values.shape[1])[0])


def proposed(
    run: Run, state: State, scores: PopulationScores, evaluation: Evaluation
) -> tuple[list[Proposal], dict[str, str]]:
    """The operators' directions and the search distribution's mean, at multiples of the last step."""
    spec = run.prepared.spec.recenter
    proposals, silent = propose(run, scores, evaluation)
    cloud = follow(scores, spec.regress_weight, ess_target(state.round + 1, spec.rounds))
    if cloud is not None:
        why = {"ess": cloud.ess, "helping": int(np.count_nonzero(cloud.weights))}
        proposals.append(Proposal("constructive", unit(cloud.mean, scores), cloud.norm, MULTIPLES, why))
    return [replace(proposal, norm=state.length, scales=MULTIPLES) for proposal in proposals], silent


def search_line(run: Run, state: State, phase: str, proposals: list[Proposal], passed: Point) -> Step:
    """The best multiple, on select, of the step that passed, against the centre."""
    length, number = passed.scale * state.length, state.round + 1
    direction = proposals[passed.proposal].direction
    points = [
        Point(
            passed.proposal,
            multiple,
            Candidate(
                f"r{number}-x{multiple:g}",
                moved(state.centre.direction, direction * (multiple * length)),
                multiple * length,
            ),
        )
        for multiple in MULTIPLES
    ]
    table = score_around(run, phase, "select", state.centre, [point.candidate for point in points])
    best = points[choose(points, table.rewards()[1:])].candidate
    return try_step(run, number, phase, state.centre, best, best.sigma)


def next_state(run: Run, state: State, scores: PopulationScores, step: Step | None) -> State:
    """What the round leaves behind; its helping candidates say where the next population leans."""
    spec = run.prepared.spec.recenter
    moved_on = step is not None and step.accepted
    after = state.accept(step.candidate, step.length) if step and moved_on else state.reject(SHRINK)
    helped = constructive(scores.fixes, scores.regressions, scores.judged, spec.regress_weight) > 0
    cloud = follow(scores, spec.regress_weight, 2 * ess_target(state.round + 1, spec.rounds))
    axes = axes_of(cloud, scores.seeds, spec.rank) if cloud else None
    return replace(after, iota=next_iota(state.iota, float(helped.mean())), axes=axes or state.axes)
