"""A run directory as finished phases leave it, small and with hostile texts in it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from corp.diagnostics.concentration import concentration, drawn
from corp.diagnostics.consensus import consensus
from corp.diagnostics.luck import search_luck, select_luck
from corp.diagnostics.reliability import reliabilities
from corp.diagnostics.sketch import sketch
from corp.gate import decide
from population.direction import Component, Direction, Law
from tests.corp.diagnostics.planted import SIGMA, TENSORS, independent

ATTACK = "<script>alert(1)</script>"
PROMPTS = {"support": 100, "select": 40, "gate": 60, "test": 50}


def write_run(target: Path, *, stop: str = "", accepted: bool = True) -> Path:
    """A run whose phases up to (without) ``stop`` have finished; the gate has accepted or not."""
    target.mkdir(parents=True)
    for name, content in phases(accepted).items():
        if name == stop:
            break
        (target / f"{name}.json").write_text(json.dumps(content, allow_nan=False))
    return target


def phases(accepted: bool) -> dict[str, Any]:
    scores = independent(24, 3)
    taken = [member.components[0].seed for member in scores.perturbations[::2]]
    direction = Direction(tuple(Component(seed, SIGMA / 3) for seed in taken), Law())
    rewards, levels = scores.rewards, scores.levels
    gate = outcomes(60, 20, 2 if accepted else 18)
    test = outcomes(50, 15, 3)
    points = [
        {
            "key": f"corp-{index}@{scale}",
            "proposal": index,
            "scale": scale,
            "length": scale * SIGMA,
            "select": reward,
        }
        for index in (0, 1)
        for scale, reward in ((0.5, 0.5 + index / 20), (1.0, 0.625), (2.0, 0.3))
    ]
    chosen = {**points[1], "sigma": SIGMA, "direction": direction.to_json()}
    diagnostics = {
        "support": {
            "n": 100,
            "candidates": 24,
            "reliability": asdict(reliabilities(scores)),
            "luck": asdict(search_luck(scores)),
            "concentration": asdict(concentration(scores, direction)),
            "consensus": asdict(consensus(scores, sketch(scores, TENSORS, coordinates=256))),  # type: ignore[call-overload]
            "points": [asdict(one) for one in drawn(scores, direction)],
        },
        "select": asdict(select_luck(6, np.zeros(40), np.ones(40))),  # type: ignore[call-overload]
        "rounding": rounding(),
        "composition": composition(),
        "skipped": {},
    }
    found = {
        "spec": spec(),
        "preflight": {
            "splits": PROMPTS,
            "parameters": 6240,
            "perturbed": 6240,
            "task_digest": "ab" * 32,
            "detectable_gain": 0.21,
        },
        "baseline": {
            "base": 0.4,
            "success": 0.4,
            "shaped": False,
            "null": 0.4,
            "null_differs": 0,
            "noise_floor": {"orders": 3, "min": 0.4, "max": 0.41, "changed": 1, "n": 100},
        },
        "search": {
            "rewards": rewards.tolist(),
            "shaped": False,
            "sigmas": scores.sigmas.tolist(),
            "levels": [
                {"sigma": s, "n": len(m), "mean": float(rewards[m].mean()), "best": float(rewards[m].max())}
                for s, m in levels.items()
            ],
            "dropped": [],
        },
        "consolidate": {
            "base": 0.45,
            "proposals": [
                {"operator": name, "norm": 0.003, "elites": 12, "why": {}} for name in ("corp", "es")
            ],
            "points": points,
            "silent": {"greedy": f"no member helps {ATTACK}"},
            "noise_passes": 1,
            "chosen": chosen,
            "finalists": [chosen],
            "reason": "best on select",
        },
        "gate": {
            **look(gate, chosen["key"]),
            "test": {
                key: value for key, value in plain(test).items() if key not in ("accepted", "reason", "level")
            },
            "sample": {"messages": [], "base": "a", "candidate": "b"},
        },
        "controls": controls(),
        "samples": {"split": "test", "key": "chosen", "pairs": pairs()},
        "diagnostics": diagnostics,
    }
    if accepted:
        found["export"] = {"recipe": "cd" * 32, "bytes": 1000, "files": ["model.safetensors"]}
        found["audit"] = {"files": 7, "tensors": 2, "scores": "50 of 50 equal"}
    return found


def spec() -> dict[str, Any]:
    return {
        "name": "a report",
        "model": "/models/tiny",
        "revision": None,
        "task": {
            "name": f"task {ATTACK}",
            "verifier": {"kind": "exact"},
            "pass_threshold": 1.0,
            "max_new_tokens": 4,
            "rows": [{"answer": "secret row"}],
        },
        "population": {"size": 24, "sigmas": [SIGMA, 2 * SIGMA]},
        "recenter": {"mode": "off"},
        "controls": {"enabled": True},
        "gate": {"alpha": 0.05, "guards": []},
    }


def outcomes(n: int, fixes: int, regressions: int) -> Any:
    base = np.zeros(n)
    base[fixes : fixes + regressions + 5] = 1
    after = base.copy()
    after[:fixes] = 1
    after[fixes : fixes + regressions] = 0
    return decide(base, after)


def plain(decision: Any) -> dict[str, Any]:
    return {**asdict(decision), "interval": list(decision.interval)}


def look(decision: Any, key: str) -> dict[str, Any]:
    row = {
        "key": key,
        "accepted": decision.accepted,
        "decision": plain(decision),
        "base": decision.base,
        "candidate": decision.candidate,
        "guards": [{"task": ATTACK, "held": True, "change": -0.01, "bound": -0.02, "margin": 0.03}],
    }
    kept = {"policy": "strict", "method": "exact McNemar test", "look": "gate"}
    return {**row, **kept, "level": 0.05, "proposals": [row]}


def controls() -> dict[str, Any]:
    def row(name: str, difference: float) -> dict[str, Any]:
        bounds = [difference - 0.1, difference + 0.1]
        numbers = {
            "n": 50,
            "score": 0.5 + difference,
            "base": 0.5,
            "p_value": 0.03,
            "passes": 1,
            "tokens": 4.0,
        }
        return {
            "name": name,
            "difference": difference,
            "interval": bounds,
            "fixes": 7,
            "regressions": 2,
            **numbers,
        }

    rows = [row("base", 0.0), row("chosen", 0.24), row("random_mean-0", 0.02), row("vote-3", 0.1)]
    skipped = [{"name": "label_likelihood", "reason": "70 distinct answers"}]
    return {"split": "test", "n": 50, "rows": rows, "skipped": skipped, "members": ["c00001"]}


def rounding() -> dict[str, Any]:
    def one(name: str, gain: float | None) -> dict[str, Any]:
        lengths = {"intended": 6.5, "realised": 6.4} if gain else {"intended": 0.1, "realised": 0.0}
        return {
            "name": name,
            "weights": 3000,
            "gain": gain,
            "cosine": gain,
            "changed": 0.98,
            "lost": 0.01,
            **lengths,
        }

    groups = [one("mlp", 0.998), one("norms", None)]
    return {"storage": "bfloat16", "overall": one("all", 0.99), "groups": groups, "worst": groups}


def composition() -> dict[str, Any]:
    shown = {
        "fix": {"shown": 1, "of": 15},
        "regression": {"shown": 1, "of": 3},
        "unchanged": {"shown": 1, "of": 32},
    }
    counts = {"reasoning_fix": 9, "format_fix": 6, "unclear_fix": 0, "regression": 3, "unchanged": 32}
    return {"split": "test", "n": 50, **counts, "samples": {"shown": 3, **shown}}


def pairs() -> list[dict[str, Any]]:
    def pair(index: int, kind: str, shown: str, base: str) -> dict[str, Any]:
        texts = {
            "prompt": f"Which? {ATTACK}",
            "base": base,
            "merged": f"{ATTACK} & <b>bold</b>",
            "expected": "7",
        }
        passed = {"base_passed": shown != "fix", "merged_passed": shown != "regression"}
        return {"index": index, "kind": kind, "shown": shown, "turns": 2, **texts, **passed}

    return [
        pair(0, "format_fix", "fix", "<img src=x onerror=alert(1)>"),
        pair(4, "regression", "regression", "</pre></article><script>alert(2)</script>"),
        pair(7, "unchanged", "unchanged", ""),
    ]
