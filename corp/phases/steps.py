"""Whether the centre moves: a new one against the present one on the select split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corp.gate.spending import level
from corp.phases.look import look
from corp.phases.run import Run
from corp.phases.staging import Stage
from corp.recentering import Gain, gain
from population.proposal import Candidate
from population.table import Table


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was tried.

    Attributes:
        candidate: what becomes the centre: the sum, pulled towards the base by the anchor.
        length: of the step before the pull, per weight.
        before: the present centre's mean reward on select.
        found: the sum's, before the pull.
        after: the candidate's.
        gain: of the candidate, paired.
        reason: why it was accepted or not.
    """

    candidate: Candidate
    length: float
    before: float
    found: float
    after: float
    gain: Gain
    accepted: bool
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {
            "accepted": self.accepted,
            "reason": self.reason,
            "key": self.candidate.key,
            "length": self.length,
            "before": self.before,
            "found": self.found,
            "after": self.after,
            **self.gain.to_json(),
        }


def try_step(run: Run, number: int, phase: str, centre: Candidate, found: Candidate, length: float) -> Step:
    """Compare on select what would become the centre with what is.

    A step is accepted where the lower bound of its paired mean gain is above 0 and no fewer prompts pass;
    and where the spec has the gate look at every round, it has to pass there as well.
    """
    spec = run.prepared.spec.recenter
    assert found.direction is not None
    found = replace(found, sigma=found.direction.norm())
    pulled = pull(found, spec.anchor, f"r{number}-anchored")
    tried = list(dict.fromkeys([centre, found, pulled]))
    table = run.score(phase, "select", tried)
    before, summed, after = (tried.index(candidate) for candidate in (centre, found, pulled))
    rewards = table.rewards()
    values = np.where(table.valid, table.values, np.nan)
    gained = gain(values[before], values[after], spec.z)
    passed = table.success & table.valid[[before, after]].all(axis=0)
    problem = _problem(gained, int(passed[before].sum() - passed[after].sum()), spec.z)
    problem = problem or held_out(run, number, centre, pulled)
    told = f"gain on select {gained.mean:+.4f} +- {gained.error:.4f}"
    return Step(
        pulled,
        length,
        float(rewards[before]),
        float(rewards[summed]),
        float(rewards[after]),
        gained,
        problem is None,
        f"{told}, {problem}" if problem else told,
    )


def held_out(run: Run, number: int, centre: Candidate, candidate: Candidate) -> str | None:
    """What the gate split has against a step that was good on select, where rounds may look at it."""
    spec = run.prepared.spec
    if spec.gate.looks == "final" or number == 0:
        return None
    share = level(spec.gate.alpha, number, spec.recenter.further())
    found = look(run, f"recenter-{number}", [candidate], share, centre=centre)
    return None if found["winner"] else f"but at the gate: {found['proposals'][0]['decision']['reason']}"


def score_around(
    run: Run, phase: str, split: str, centre: Candidate, candidates: Sequence[Candidate]
) -> Table:
    """The centre's scores, then the candidates', whose sums share passes over the centre's noise."""
    if centre.direction is None:  # nothing in common to save
        return run.score(phase, split, [centre, *candidates])
    with Stage(run, [centre, *candidates]) as stage:
        return run.score(phase, split, [centre, *candidates], stage.switch)


def pull(candidate: Candidate, anchor: float, key: str) -> Candidate:
    """The candidate moved back towards the base: (1 - anchor) of its displacement."""
    if not anchor or candidate.direction is None:
        return candidate
    return Candidate(key, candidate.direction * (1 - anchor), candidate.sigma * (1 - anchor))


def record(
    number: int, sigma: float, step: Step | None, reason: str, before: float | None = None, **details: object
) -> dict[str, Any]:
    """A round as its file holds it.

    Args:
        number: of the round.
        sigma: RMS of its population.
        reason: why no step was tried, where none was.
        before: the centre's mean reward on select, where no step says it.
    """
    tried = step.to_json() if step else {"accepted": False, "reason": reason, "before": before}
    return {"round": number, "sigma": sigma, **tried, **details}


def _problem(gained: Gain, fell: int, z: float) -> str | None:
    if gained.lower <= 0:
        return f"which is not above {z:g} standard errors"
    return f"but {fell} fewer prompts pass" if fell > 0 else None
