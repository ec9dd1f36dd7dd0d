"""What a run found, every number with its split and n."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from population.publish import publish_json

if TYPE_CHECKING:
    from corp.phases.run import Run


def build_report(run: Run) -> dict[str, Any]:
    """Write and return RUN/report.json from the results of the phases."""
    preflight = run.result("preflight")
    consolidated = run.result("consolidate")
    gate = run.result("gate") if run.finished("gate") else None
    exported = run.result("export") if run.finished("export") else None
    report = {
        "name": run.prepared.spec.name,
        "outcome": "improved" if exported else "no_improvement",
        "reason": gate["decision"]["reason"] if gate else consolidated["reason"],
        "splits": preflight["splits"],
        "support": _support(run),
        "select": _select(consolidated),
        "gate": _gate(gate),
        "test": gate.get("test") if gate else None,
        "checkpoint": "checkpoint" if exported else None,
        "recipe": exported["recipe"] if exported else None,
        "audit": run.result("audit") if run.finished("audit") else None,
        "sample": gate["sample"] if gate and exported else None,
    }
    publish_json(run.target / "report.json", report)
    return report


def _support(run: Run) -> dict[str, Any]:
    search = run.result("search")
    return {**run.result("baseline"), "best": max(search["rewards"]), "levels": search["levels"]}


def _select(consolidated: dict[str, Any]) -> dict[str, Any] | None:
    if not consolidated["points"]:
        return None
    chosen = consolidated["chosen"]
    return {
        "base": consolidated["base"],
        "candidate": chosen["select"] if chosen else None,
        "key": chosen["key"] if chosen else None,
        "evaluations": len(consolidated["points"]),
    }


def _gate(gate: dict[str, Any] | None) -> dict[str, Any] | None:
    if gate is None:
        return None
    return {"base": gate["base"], "candidate": gate["candidate"], **gate["decision"]}
