"""The held-out decision, and the test split that no decision sees."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from corp.audit import GateEvidence
from corp.gate import Decision, decide
from corp.phases.run import Run
from population.direction import Direction
from population.proposal import BASE, Candidate
from population.scoring import Table


def gate_phase(run: Run) -> dict[str, object]:
    """Base and chosen candidate on the gate split, once; the test split for the report when accepted."""
    chosen = chosen_candidate(run)
    table = run.score("gate", "gate", [BASE, chosen])
    decision = paired(run, table, run.prepared.spec.gate.alpha)
    run.engine.set_weights(chosen.direction)
    result: dict[str, object] = {
        "accepted": decision.accepted,
        "decision": plain(decision),
        "base": float(np.mean(success(run, table)[0])),
        "candidate": float(np.mean(success(run, table)[1])),
        "weights": run.engine.digest(),
    }
    if decision.accepted:
        write_evidence(run, table, chosen)
        result["test"] = test_scores(run, chosen)
        result["sample"] = fixed_sample(run, table, chosen)
    run.emit("gate.decided", {key: result[key] for key in ("accepted", "decision", "base", "candidate")})
    return result


def chosen_candidate(run: Run) -> Candidate:
    chosen = run.result("consolidate")["chosen"]
    return Candidate(chosen["key"], Direction.from_json(chosen["direction"]), chosen["sigma"])


def success(run: Run, table: Table) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Binary success per prompt, (2, M), on the prompts where both verdicts are valid."""
    both = table.valid.all(axis=0)
    passed: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = table.success(run.prepared.task.pass_threshold)[
        :, both
    ]
    return passed


def paired(run: Run, table: Table, alpha: float) -> Decision:
    base, candidate = success(run, table)
    return decide(base, candidate, alpha=alpha)


def plain(decision: Decision) -> dict[str, Any]:
    values = asdict(decision)
    values["interval"] = list(decision.interval)
    return values


def test_scores(run: Run, chosen: Candidate) -> dict[str, object]:
    """The same pair on the test split: the number to quote, untouched by any choice."""
    table = run.score("gate", "test", [BASE, chosen])
    base, candidate = success(run, table)
    values = plain(decide(base, candidate, alpha=run.prepared.spec.gate.alpha))
    kept = ("n", "gain", "interval", "p_value", "fixes", "regressions")
    return {"base": float(base.mean()), "candidate": float(candidate.mean())} | {k: values[k] for k in kept}


def write_evidence(run: Run, table: Table, chosen: Candidate) -> None:
    """What an auditor needs to score the export again in another process."""
    spec = run.prepared.spec
    GateEvidence(
        task=spec.task,
        engine=spec.engine,
        identity={key: str(value) for key, value in run.engine.identity.items()},
        values=tuple(map(float, table.values[1])),
        valid=tuple(map(bool, table.valid[1])),
        texts=tuple(run.store.texts(chosen.key, "gate")),
    ).write(run.target / "gate-evidence.json")


def fixed_sample(run: Run, table: Table, chosen: Candidate) -> dict[str, object]:
    """The first gate prompt that the base fails and the candidate passes, both verdicts valid."""
    before, after = table.success(run.prepared.task.pass_threshold)
    index = int(np.flatnonzero(~before & after & table.valid.all(axis=0))[0])
    return {
        "messages": run.prepared.task.messages(run.prepared.task.splits["gate"][index]),
        "base": run.store.texts(BASE.key, "gate")[index],
        "candidate": run.store.texts(chosen.key, "gate")[index],
    }
