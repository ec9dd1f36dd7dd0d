"""The held-out decision, and the test split that no decision sees."""

from __future__ import annotations

import numpy as np

from corp.audit import GateEvidence
from corp.gate.family import judge
from corp.phases.finalists import finalists
from corp.phases.look import look, pair, plain, remaining
from corp.phases.run import Run
from population.proposal import BASE, Candidate
from population.table import Table

__all__ = ["gate_phase", "look"]


def gate_phase(run: Run) -> dict[str, object]:
    """Base and every finalist on the gate split, once; the test split for the report when one is accepted."""
    candidates = finalists(run)
    found = look(run, "gate", candidates, remaining(run), guarded=True)
    shown = next((row for row in found["proposals"] if row["accepted"]), found["proposals"][0])
    chosen = next(candidate for candidate in candidates if candidate.key == shown["key"])
    run.engine.set_weights(chosen.direction)
    result = {**found, **shown, "weights": run.engine.digest()}
    if result["accepted"]:
        # From the store; where samples decided, the greedy answers that an auditor can repeat.
        table = run.score("gate", "gate", [BASE, chosen])
        write_evidence(run, table, chosen)
        result["test"] = test_scores(run, chosen, shown["decision"]["level"])
        result["sample"] = fixed_sample(run, table, chosen)
    run.emit("gate.decided", {name: result[name] for name in ("accepted", "decision", "base", "candidate")})
    return result


def test_scores(run: Run, chosen: Candidate, level: float) -> dict[str, object]:
    """The same pair on the test split: the number to quote, untouched by any choice.

    Args:
        level: of the interval, the one that the gate's has.
    """
    table = run.score("gate", "test", [BASE, chosen])
    spec = run.prepared.spec
    (decision,) = judge([pair(table, 1)], alpha=level, seed=spec.population.seed)
    kept = ("n", "base", "candidate", "gain", "interval", "p_value", "fixes", "regressions")
    values = plain(decision)
    return {name: values[name] for name in kept}


def write_evidence(run: Run, table: Table, chosen: Candidate) -> None:
    """What an auditor needs to score the export again in another process."""
    spec = run.prepared.spec
    GateEvidence(
        task=spec.task,
        engine=spec.engine,
        identity={key: str(value) for key, value in run.engine.identity.items()},
        values=tuple(map(float, table.values[1])),
        valid=tuple(map(bool, table.valid[1])),
        success=tuple(map(bool, table.success[1])),
        texts=tuple(run.store.texts(chosen.key, "gate")),
    ).write(run.target / "gate-evidence.json")


def fixed_sample(run: Run, table: Table, chosen: Candidate) -> dict[str, object]:
    """The first gate prompt that was fixed; the first of all where samples decided and none was."""
    before, after = pair(table, 1)
    index = int(np.flatnonzero(table.valid.all(axis=0))[int(np.argmax(after - before))])
    return {
        "messages": run.prepared.task.messages(run.prepared.task.splits["gate"][index]),
        "base": run.store.texts(BASE.key, "gate")[index],
        "candidate": run.store.texts(chosen.key, "gate")[index],
    }
