"""One use of the gate split: recorded, scored, tested, and held against the guard tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from corp.gate import ledger
from corp.gate.decision import Decision
from corp.gate.family import METHODS, Metric, judge
from corp.gate.guard import Guarded
from corp.gate.holm import check_count
from corp.phases.guards import guard_results
from corp.phases.run import Run
from population.answering import Draws
from population.proposal import BASE, Candidate
from population.table import Table
from verify.strict_json import canonical
from verify.task import Task

Pair = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def look(
    run: Run,
    name: str,
    candidates: Sequence[Candidate],
    level: float,
    *,
    centre: Candidate = BASE,
    guarded: bool = False,
) -> dict[str, Any]:
    """One use of the gate split, recorded before its first prompt is scored.

    Args:
        name: of the look, one of its own for every round; the same name continues an interrupted look.
        candidates: one to five, in the order of registration.
        level: share of gate.alpha that this look spends (`corp.gate.spending`).
        centre: what they have to beat.
        guarded: also hold the accepted one against the guard tasks.

    Returns:
        ``proposals``: per candidate ``key``, ``accepted``, ``decision``, ``base``, ``candidate`` and
        ``guards``, empty where it was not held against them. ``winner``: key of the first accepted one, or
        None. ``look``, ``level``, ``policy``, ``method``.

    Raises:
        GateSpent: the look was made with other candidates, or alpha is used up.
        GateInvalid: no candidate, or more than five.
    """
    spec = run.prepared.spec.gate
    check_count(len(candidates))
    register(run, name, [centre, *candidates], level)
    metric: Metric = "value" if spec.samples > 1 else "success"  # a mean of samples is a grade
    decisions = judge(
        answered(run, [centre, *candidates]),
        policy=spec.policy,
        metric=metric,
        alpha=level,
        seed=run.prepared.spec.population.seed,
    )
    rows = settle(run, candidates, decisions, guarded)
    return {
        "look": name,
        "level": level,
        "policy": spec.policy,
        "samples": spec.samples,
        "method": METHODS[spec.policy, metric],
        "proposals": rows,
        "winner": next((row["key"] for row in rows if row["accepted"]), None),
    }


def remaining(run: Run) -> float:
    """What earlier looks have left of alpha for the final decision."""
    alpha = run.prepared.spec.gate.alpha
    return alpha - ledger.read(run.target / ledger.NAME, split_digest(run.prepared.task), alpha).spent("gate")


def register(run: Run, name: str, candidates: Sequence[Candidate], level: float) -> None:
    path, alpha = run.target / ledger.NAME, run.prepared.spec.gate.alpha
    book = ledger.read(path, split_digest(run.prepared.task), alpha)
    digests = {one.key: one.direction.digest() for one in candidates if one.direction is not None}
    ledger.enter(path, book, name, digests, level)


def split_digest(task: Task) -> str:
    """SHA-256 over the gate split's rows in order."""
    return sha256(b"\n".join(canonical(item) for item in task.splits["gate"])).hexdigest()


def answered(run: Run, rows: Sequence[Candidate]) -> list[Pair]:
    """The first of ``rows`` and each other one on the gate split, greedily or by several samples a prompt."""
    if run.prepared.spec.gate.samples == 1:
        table = run.score("gate", "gate", rows)
        return [pair(table, row) for row in range(1, len(rows))]
    base, *others = (sampled(run, one) for one in rows)
    judged = [~np.isnan(base).all(axis=1) & ~np.isnan(other).all(axis=1) for other in others]
    return [(base[both], other[both]) for other, both in zip(others, judged, strict=True)]


def sampled(run: Run, candidate: Candidate) -> npt.NDArray[np.float64]:
    """Passes as 0 and 1 per prompt and sample, NaN where it could not be judged, shape (n, samples)."""
    spec = run.prepared.spec.gate
    draws = Draws(spec.temperature, seed=run.prepared.spec.population.seed)
    stem = f"{candidate.key}~gate{spec.temperature:g}"
    copies = [replace(candidate, key=f"{stem}#{number}") for number in range(spec.samples)]
    table = run.score("gate", "gate", copies, sampling=draws)
    return np.where(table.valid, table.success, np.nan).T


def pair(table: Table, row: int) -> Pair:
    """Passes as 0 and 1 of the first row and ``row``, on the prompts where both verdicts are valid."""
    both = table.valid[0] & table.valid[row]
    return table.success[0, both].astype(np.float64), table.success[row, both].astype(np.float64)


def settle(
    run: Run, candidates: Sequence[Candidate], decisions: Sequence[Decision], guarded: bool
) -> list[dict[str, Any]]:
    """The decisions after the guards: candidates are tried in order until one of them is not vetoed.

    Guards are held at alpha over the number of candidates, so that in all of them together a fall is
    overlooked at most at alpha / 2: what the tests, which accept on one side, leave of alpha.
    """
    rows: list[dict[str, Any]] = []
    level = run.prepared.spec.gate.alpha / len(candidates)
    settled = False
    for candidate, decision in zip(candidates, decisions, strict=True):
        guards: list[Guarded] = []
        if guarded and decision.accepted and not settled:
            guards = guard_results(run, candidate, level)
            decision = vetoed(decision, guards)
            settled = decision.accepted
        rows.append(
            {
                "key": candidate.key,
                "accepted": decision.accepted,
                "decision": plain(decision),
                "base": decision.base,
                "candidate": decision.candidate,
                "guards": [asdict(one) for one in guards],
            }
        )
    return rows


def vetoed(decision: Decision, guards: Sequence[Guarded]) -> Decision:
    """The decision, turned down if a guard may have fallen by its margin."""
    fallen = [one for one in guards if not one.held]
    if not fallen:
        return decision
    first = fallen[0]
    reason = (
        f"Abstained, guard {first.task} may have fallen: {100 * first.change:+.1f} points with lower bound"
        f" {100 * first.bound:+.1f}, allowed {-100 * first.margin:+.1f}; without it "
    )
    return replace(decision, accepted=False, reason=reason + decision.reason[0].lower() + decision.reason[1:])


def plain(decision: Decision) -> dict[str, Any]:
    return {**asdict(decision), "interval": list(decision.interval)}
