"""What report.json says: the phases' results, arranged for readers; every number with its split and n."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corp.results import found_result, read_result

Json = dict[str, Any]


def compose(target: Path) -> Json:
    """The report of the run in ``target``, as far as it has come.

    Raises:
        RunChanged: a phase's file is damaged.
    """
    run = _Phases(target)
    gate, exported = run["gate"], run["export"]
    pending = run.pending()
    return {
        "name": run.spec["name"],
        "outcome": "unfinished" if pending else "improved" if exported else "no_improvement",
        "reason": _reason(run, pending),
        "complete": not pending,
        "pending": pending,
        "model": _model(run),
        "task": _task(run),
        "settings": _settings(run.spec),
        "splits": (run["preflight"] or {}).get("splits"),
        "detectable_gain": (run["preflight"] or {}).get("detectable_gain"),
        "support": _support(run),
        "population": _population(run),
        "select": _select(run),
        "consolidation": _consolidation(run["consolidate"]),
        "gate": _gate(gate),
        "test": _test(gate),
        "controls": run["controls"],
        "diagnostics": _diagnostics(run["diagnostics"]),
        "calibration": run["calibrate"],
        "recentering": _recentering(run["recenter"]),
        "checkpoint": "checkpoint" if exported else None,
        "recipe": exported["recipe"] if exported else None,
        "export": exported,
        "audit": run["audit"],
        "sample": gate["sample"] if gate and exported else None,
    }


class _Phases:
    """The results of a run directory by phase; None for one that has not finished."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._read: dict[str, Json | None] = {}
        self.spec = read_result(target, "spec")

    def __getitem__(self, name: str) -> Json | None:
        if name not in self._read:
            self._read[name] = found_result(self._target, name)
        return self._read[name]

    def pending(self) -> list[str]:
        """The phases that are still to come, as far as what is there tells."""
        return [name for name in self._planned() if self[name] is None]

    def _planned(self) -> list[str]:
        names = ["preflight", "baseline"]
        if self.spec["population"]["sigmas"] == "auto":
            names.append("calibrate")
        names += ["search", "consolidate"]
        if self.spec["recenter"]["mode"] != "off":
            names.append("recenter")
        if (self["recenter"] or self["consolidate"] or {}).get("chosen"):
            names.append("gate")
        if self.spec["controls"]["enabled"]:
            names.append("controls")
        names.append("diagnostics")
        accepted = (self["gate"] or {}).get("accepted")
        return [*names, "export", "audit"] if accepted else names


def _reason(run: _Phases, pending: list[str]) -> str:
    if pending:
        return f"The run has not finished; still to come: {', '.join(pending)}."
    gate = run["gate"]
    if gate:
        return str(gate["decision"]["reason"])
    return str((run["recenter"] or run["consolidate"] or {})["reason"])


def _model(run: _Phases) -> Json:
    facts = run["preflight"] or {}
    return {
        "name": Path(run.spec["model"]).name,
        "path": run.spec["model"],
        "revision": run.spec["revision"],
        "parameters": facts.get("parameters"),
        "perturbed": facts.get("perturbed"),
    }


def _task(run: _Phases) -> Json:
    task = run.spec["task"]
    return {
        "name": task["name"],
        "digest": (run["preflight"] or {}).get("task_digest"),
        "verifier": task["verifier"]["kind"],
        "pass_threshold": task["pass_threshold"],
        "max_new_tokens": task["max_new_tokens"],
    }


def _settings(spec: Json) -> Json:
    """The spec without the tasks' rows, which may be long."""
    return {name: value for name, value in spec.items() if name not in ("task", "gate")} | {
        "gate": {name: value for name, value in spec["gate"].items() if name != "guards"}
    }


def _support(run: _Phases) -> Json | None:
    """The search on the support split."""
    baseline, search = run["baseline"], run["search"]
    if baseline is None:
        return None
    n = ((run["preflight"] or {}).get("splits") or {}).get("support")
    shaped = any(one.get("shaped", False) for one in (baseline, search or {}))
    found = {**baseline, "shaped": shaped, "n": n}
    return {**found, "best": max(search["rewards"]), "levels": search["levels"]} if search else found


def _population(run: _Phases) -> Json | None:
    """The candidates as they are plotted: at most 2,000 of them."""
    search, diagnosed = run["search"], run["diagnostics"]
    if search is None:
        return None
    points = diagnosed["support"]["points"] if diagnosed else []
    return {
        "split": "support",
        "n": ((run["preflight"] or {}).get("splits") or {}).get("support"),
        "candidates": len(search["rewards"]),
        "dropped": len(search.get("dropped", [])),
        "points": points,
    }


def _select(run: _Phases) -> Json | None:
    """The line search on the select split."""
    consolidated = run["consolidate"]
    if consolidated is None or not consolidated["points"]:
        return None
    chosen = consolidated["chosen"]
    return {
        "n": ((run["preflight"] or {}).get("splits") or {}).get("select"),
        "base": consolidated["base"],
        "candidate": chosen["select"] if chosen else None,
        "key": chosen["key"] if chosen else None,
        "evaluations": len(consolidated["points"]),
    }


def _consolidation(consolidated: Json | None) -> Json | None:
    """Proposals and the points tried along them, each with its operator's name."""
    if consolidated is None:
        return None
    names = [proposal["operator"] for proposal in consolidated["proposals"]]
    points = [{**point, "operator": names[point["proposal"]]} for point in consolidated["points"]]
    return {
        "proposals": consolidated["proposals"],
        "points": points,
        "operators": [_operator(name, names, points) for name in dict.fromkeys(names)],
        "silent": consolidated["silent"],
        "finalists": [
            {key: row[key] for key in ("key", "scale", "sigma", "select")}
            for row in consolidated["finalists"]
        ],
    }


def _operator(name: str, names: list[str], points: list[Json]) -> Json:
    own = [point for point in points if point["operator"] == name]
    best = max(own, key=lambda point: (point["select"], -point["length"]), default=None)
    return {"operator": name, "directions": names.count(name), "points": len(own), "best": best}


def _recentering(found: Json | None) -> Json | None:
    """Without the directions: recenter.json and the recipe have them."""
    if found is None:
        return None
    kept = {name: value for name, value in found.items() if name not in ("chosen", "finalists", "rounds")}
    return {**kept, "rounds": [_plain(row) for row in found["rounds"]]}


def _plain(row: Json) -> Json:
    return {name: value for name, value in row.items() if not isinstance(value, dict | list)}


def _gate(gate: Json | None) -> Json | None:
    if gate is None:
        return None
    found = {"base": gate["base"], "candidate": gate["candidate"], **gate["decision"]}
    kept = ("key", "policy", "method", "look", "proposals")
    return {**found, **{name: gate[name] for name in kept if name in gate}}


def _test(gate: Json | None) -> Json | None:
    test: Json | None = gate.get("test") if gate else None
    return test


def _diagnostics(diagnosed: Json | None) -> Json | None:
    """Without the points of the population, which stand in their own section."""
    if diagnosed is None:
        return None
    support = {name: value for name, value in diagnosed["support"].items() if name != "points"}
    return {**diagnosed, "support": support}
