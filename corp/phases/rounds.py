"""One more population around a moving centre, consolidated like the first.

A population keeps its worth as long as the centre stays: where a round was rejected, the next one weighs its
candidates together with those before it.
"""

from __future__ import annotations

from typing import Any

from corp.operators import PopulationScores
from corp.phases.consolidate import consolidate
from corp.phases.population import scored
from corp.phases.run import Run
from corp.phases.steps import record, score_around, try_step
from corp.recentering import State, candidate_from_json, shares
from population.proposal import Candidate, around, isotropic


def rounds_round(run: Run, state: State) -> dict[str, Any]:
    """Sample around the centre, score on support, consolidate, and move where select says so."""
    number = state.round + 1
    phase = f"recenter-{number}"
    scores = pooled(run, state, phase)
    found: dict[str, Any] = consolidate(run, scores, phase, state.centre)
    chosen, reason = found.pop("chosen"), str(found.pop("reason"))
    found.pop("finalists")
    step = None
    if chosen is not None:
        step = try_step(run, number, phase, state.centre, candidate_from_json(chosen), chosen["sigma"])
    after = state.accept(step.candidate, step.length) if step and step.accepted else state.reject()
    pool = {"since": state.since, "pooled": len(scores.keys), "candidates": len(members_of(run, number))}
    return record(
        number, state.sigma, step, reason, found.pop("base"), **found, **pool, state=after.to_json()
    )


def pooled(run: Run, state: State, phase: str) -> PopulationScores:
    """Every candidate that was sampled around the present centre, on the support split."""
    members: list[Candidate] = []
    candidates: list[Candidate] = []
    for number in range(state.since, state.round + 2):
        fresh = members_of(run, number)
        members += fresh
        candidates += around(state.centre, fresh, f"r{number}-") if number else fresh
    table = score_around(run, phase, "support", state.centre, candidates)
    perturbations = [member.direction for member in members if member.direction is not None]
    return scored(table, perturbations, candidates)


def members_of(run: Run, number: int) -> tuple[Candidate, ...]:
    """Perturbations of a round's population, 0 being the search: consecutive parts of one population."""
    if number == 0:
        return run.population
    spec, prepared = run.prepared.spec, run.prepared
    budget = shares(spec.population.size, spec.recenter.rounds)
    sigmas = tuple(dict.fromkeys(candidate.sigma for candidate in run.sampled))
    return isotropic(budget[number], sigmas, spec.population.seed, prepared.law, first=sum(budget[:number]))
