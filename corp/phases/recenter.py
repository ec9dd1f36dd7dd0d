"""Search again around what was found, round by round; every round is on disk before the next starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from corp.phases.local import leaning, local_round
from corp.phases.population import population_scores
from corp.phases.rounds import rounds_round
from corp.phases.run import Run
from corp.phases.steps import Step, record, try_step
from corp.recentering import Limits, State, candidate_from_json, candidate_to_json
from corp.spec import RecenterSpec
from population.proposal import BASE, Candidate

WORK: dict[str, Callable[[Run, State], dict[str, Any]]] = {"local": local_round, "rounds": rounds_round}


@dataclass
class Trail:
    """The rounds so far, and the centres that they led to, newest first."""

    rounds: list[dict[str, Any]] = field(default_factory=list)
    centres: list[dict[str, Any]] = field(default_factory=list)

    def add(self, found: dict[str, Any], centre: Candidate) -> None:
        kept = ("points", "proposals", "silent", "state")  # in the round's own file
        self.rounds.append({key: value for key, value in found.items() if key not in kept})
        if found["accepted"]:
            row = candidate_to_json(centre)
            self.centres.insert(0, {**row, "select": found["after"], "round": found["round"]})


def recenter_phase(run: Run) -> dict[str, object]:
    """Rounds until the limits are met; the final centre and those before it go to the gate.

    Round 0 is the search: its step is held to the same rule as every later one.
    """
    trail = Trail()
    state = start(run, trail)
    if run.prepared.spec.recenter.mode == "local" and not trail.centres:
        ended = "the search found no step to follow"
    else:
        ended = loop(run, state, trail)
    return summary(run, trail, ended)


def start(run: Run, trail: Trail) -> State:
    """The state after the search."""
    spec = run.prepared.spec.recenter
    found = run.result("consolidate")
    step: Step | None = None
    if found["chosen"] is not None:
        chosen = candidate_from_json(found["chosen"])
        step = try_step(run, 0, "recenter", BASE, chosen, chosen.sigma)
    scores = population_scores(run)
    trail.add(record(0, scores.radius, step, found["reason"]), step.candidate if step else BASE)
    if step is None or not step.accepted:
        return State(BASE, scores.radius, spec.iota, 0.0, rejected=1)
    state = State(step.candidate, scores.radius, spec.iota, step.length, since=1)
    return leaning(run, state) if spec.mode == "local" else state


def limits(spec: RecenterSpec) -> Limits:
    return Limits(spec.further(), spec.acceptances if spec.mode == "local" else None, spec.patience)


def loop(run: Run, state: State, trail: Trail) -> str:
    """Every further round, read where its file exists; why there is none after the last."""
    spec = run.prepared.spec.recenter
    while (ended := state.ended(limits(spec))) is None:
        found = run.phase(f"recenter-{state.round + 1}", partial(announced, run, state))
        state = State.from_json(found["state"])
        trail.add(found, state.centre)
    return ended


def announced(run: Run, state: State) -> dict[str, Any]:
    """Do the next round and tell those who watch."""
    found = WORK[run.prepared.spec.recenter.mode](run, state)
    told = ("round", "accepted", "reason", "sigma", "iota", "before", "after")
    run.emit("recenter.round", {key: found.get(key) for key in told})
    return found


def summary(run: Run, trail: Trail, ended: str) -> dict[str, object]:
    """What goes to the gate, best first: the centres, then what the search had registered beside its own."""
    spec, consolidated = run.prepared.spec, run.result("consolidate")
    known = {row["key"] for row in trail.centres}
    others = [row for row in consolidated["finalists"] if row["key"] not in known]
    finalists = [*trail.centres, *others][: spec.gate.proposals]
    moves = [found for found in trail.rounds if found["accepted"]]
    return {
        "mode": spec.recenter.mode,
        "anchor": spec.recenter.anchor,
        "z": spec.recenter.z,
        "rounds": trail.rounds,
        "accepted": len(moves),
        "candidates": sum(found["candidates"] for found in trail.rounds[1:]),
        "evaluations": sum(found["evaluations"] for found in trail.rounds[1:]),
        "ended": ended,
        "chosen": finalists[0] if finalists else None,
        "finalists": finalists,
        "reason": told(moves) if moves else f"{consolidated['reason']}; recentering: {ended}",
    }


def told(moves: list[dict[str, Any]]) -> str:
    first, last = moves[0], moves[-1]
    return (
        f"the centre of round {last['round']}, after {len(moves)} accepted"
        f" step{'s' if len(moves) > 1 else ''}, gets {last['after']:.3f} on"
        f" select, where the base gets {first['before']:.3f}"
    )
