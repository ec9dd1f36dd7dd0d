"""Operators propose directions; a line search on the select split picks steps along them for the gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corp.errors import NoSignal, OperatorInvalid
from corp.linesearch import Point, finalists, line
from corp.operators import OPERATORS, PopulationScores, Proposal
from corp.operators.scores import Vector
from corp.phases.population import population_scores
from corp.phases.run import Run
from corp.phases.staging import Stage
from population.direction import Direction
from population.proposal import BASE, Candidate, moved


def consolidate_phase(run: Run) -> dict[str, object]:
    """Score every (direction, scale) on select and register the best, or say why there is none."""
    return consolidate(run, population_scores(run), "consolidate")


def consolidate(
    run: Run, scores: PopulationScores, phase: str, centre: Candidate = BASE
) -> dict[str, object]:
    """Consolidate a population that was sampled around `centre`, which every point has to beat on select."""
    evaluation = Evaluation(run, phase, centre)
    proposals, silent = propose(run, scores, evaluation)
    points = line(proposals, centre.direction)
    base, rewards = evaluation([point.candidate for point in points]) if points else (None, np.empty(0))
    result: dict[str, object] = {
        "base": base,
        "proposals": [describe(proposal) for proposal in proposals],
        "points": [describe_result(point, float(r)) for point, r in zip(points, rewards, strict=True)],
        "silent": silent,
        "evaluations": evaluation.count,
        "noise_values": evaluation.noise_values,
        "noise_passes": evaluation.passes,
    }
    most = run.prepared.spec.gate.proposals
    return result | verdict(proposals, points, rewards, base, silent, most)


def propose(
    run: Run, scores: PopulationScores, evaluation: Evaluation
) -> tuple[list[Proposal], dict[str, str]]:
    """Every operator's directions, one entry for lines that two operators share.

    Returns:
        The proposals, and the reason of each operator that had none.
    """
    settings = run.prepared.spec.consolidate
    found: dict[tuple[object, ...], Proposal] = {}
    silent: dict[str, str] = {}
    for name in settings.operators:
        entry = OPERATORS[name]
        try:
            if hasattr(entry, "search"):
                proposals = entry.search(scores, settings, evaluation.directions)
            else:
                proposals = entry.propose(scores, settings)
        except (NoSignal, OperatorInvalid) as error:
            silent[name] = str(error)
            continue
        for proposal in proposals:
            line = proposal.direction.digest(), proposal.norm, proposal.scales
            found.setdefault(line, proposal)
    return list(found.values()), silent


class Evaluation:
    """Rewards of candidates on the select split, every one scored once and stored."""

    def __init__(self, run: Run, phase: str, centre: Candidate) -> None:
        self.run = run
        self.phase = phase
        self.centre = centre
        self.noise_values = 0
        self.passes = 0
        self._seen: set[str] = set()

    @property
    def count(self) -> int:
        """Distinct candidates evaluated, the centre not counted."""
        return len(self._seen)

    def __call__(self, candidates: Sequence[Candidate]) -> tuple[float, Vector]:
        """The centre's reward, and each candidate's."""
        self._seen.update(candidate.key for candidate in candidates)
        with Stage(self.run, [self.centre, *candidates]) as stage:
            table = self.run.score(self.phase, "select", [self.centre, *candidates], stage.switch)
            self.noise_values += stage.noise_values
            self.passes += stage.passes
        rewards = table.rewards()
        return float(rewards[0]), rewards[1:]

    def directions(self, directions: Sequence[Direction]) -> Vector:
        """As `corp.operators.proposal.Evaluate`."""
        targets = [moved(self.centre.direction, direction) for direction in directions]
        return self(
            [
                Candidate(f"try-{t.digest()[:12]}", t, d.norm())
                for t, d in zip(targets, directions, strict=True)
            ]
        )[1]


def verdict(
    proposals: Sequence[Proposal],
    points: Sequence[Point],
    rewards: Vector,
    base: float | None,
    silent: dict[str, str],
    most: int,
) -> dict[str, Any]:
    """What goes to the gate, best first, and why."""
    if base is None:
        reasons = list(dict.fromkeys(silent.values()))
        return {"chosen": None, "finalists": [], "reason": "; ".join(reasons)}
    registered = finalists(points, rewards, base, most, proposals)
    if not registered:
        reason = f"no proposal beat the base on select (best {max(rewards):.3f}, base {base:.3f})"
        return {"chosen": None, "finalists": [], "reason": reason}
    best = registered[0]
    return {
        "chosen": best,
        "finalists": registered,
        "reason": f"{best['key']} is best on select: {best['select']:.3f} against {base:.3f}",
    }


def describe_result(point: Point, reward: float) -> dict[str, object]:
    return {
        "key": point.candidate.key,
        "proposal": point.proposal,
        "scale": point.scale,
        "length": point.candidate.sigma,
        "select": reward,
    }


def describe(proposal: Proposal) -> dict[str, object]:
    return {
        "operator": proposal.name,
        "norm": proposal.norm,
        "elites": len(proposal.direction.components),
        "why": proposal.why,
    }
