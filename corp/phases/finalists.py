"""What goes to the gate: the candidates registered on select, best first."""

from __future__ import annotations

from typing import Any

from corp.phases.run import Run
from population.direction import Direction
from population.proposal import Candidate


def finalists(run: Run) -> list[Candidate]:
    """The registered candidates, at most ``gate.proposals``; of recentering, if that found any."""
    rows: list[dict[str, Any]] = run.result("consolidate")["finalists"]
    if run.finished("recenter"):
        rows = run.result("recenter")["finalists"] or rows
    return [
        Candidate(row["key"], Direction.from_json(row["direction"]), row["sigma"])
        for row in rows[: run.prepared.spec.gate.proposals]
    ]


def chosen_candidate(run: Run) -> Candidate:
    """The finalist that the gate's result is about."""
    key = run.result("gate")["key"]
    return next(candidate for candidate in finalists(run) if candidate.key == key)
