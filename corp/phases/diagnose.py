"""Statistics of what was found, for the report. Nothing is chosen by them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from corp.diagnostics.composition import classified, composition, right_answer
from corp.diagnostics.concentration import concentration, drawn
from corp.diagnostics.consensus import LEAST, consensus
from corp.diagnostics.luck import search_luck, select_luck
from corp.diagnostics.reliability import reliabilities
from corp.diagnostics.rounding import rounding
from corp.diagnostics.samples import Pair, pair, picked, plain, summary
from corp.diagnostics.sketch import sketch
from corp.operators.scores import PopulationScores
from corp.phases.finalists import chosen_candidate
from corp.phases.population import population_scores
from corp.phases.run import Run
from population.proposal import BASE, Candidate
from population.publish import publish_json
from population.table import Table

SAMPLES = "samples.json"


def diagnose_phase(run: Run) -> dict[str, object]:
    """Every statistic with its split and n; sections that could not be had say why in ``skipped``.

    Reads scores that are stored already, and makes one pass over the noise of the chosen direction. The pairs
    of completions go to RUN/samples.json.
    """
    scores = population_scores(run)
    chosen = chosen_candidate(run) if run.finished("gate") else None
    skipped: dict[str, str] = {}
    result: dict[str, object] = {
        "support": _of_population(run, scores, chosen, skipped),
        "select": _of_line_search(run),
        "rounding": _rounding(run, chosen),
        "composition": _composition(run, chosen),
    }
    if chosen is None:
        skipped |= dict.fromkeys(("rounding", "composition"), "no candidate reached the gate")
    return {**result, "skipped": skipped}


def _of_population(
    run: Run, scores: PopulationScores, chosen: Candidate | None, skipped: dict[str, str]
) -> dict[str, Any]:
    prepared = run.prepared
    found: dict[str, Any] = {
        "n": scores.values.shape[1],
        "candidates": len(scores.keys),
        "reliability": asdict(reliabilities(scores)),
        "luck": asdict(search_luck(scores)),
        "concentration": asdict(concentration(scores, chosen.direction if chosen else None)),
        "consensus": None,
        "points": [asdict(one) for one in drawn(scores, chosen.direction if chosen else None)],
    }
    if np.ptp(scores.rewards) == 0:
        skipped["consensus"] = "all rewards are equal"
        return found
    seed, rank = prepared.spec.population.seed, prepared.spec.consolidate.rank
    both = consensus(scores, sketch(scores, prepared.checkpoint.tensors, seed=seed), rank=rank, seed=seed)
    if both is None:
        skipped["consensus"] = f"fewer than {LEAST} elites"
    else:
        found["consensus"] = asdict(both)
    return found


def _of_line_search(run: Run) -> dict[str, Any] | None:
    """The luck of the best of the line search's points; None where there were none."""
    points = run.result("consolidate")["points"]
    if not points:
        return None
    n = len(run.prepared.task.splits["select"])
    best = max(points, key=lambda point: float(point["select"]))
    values = [np.where(valid, value, np.nan) for value, valid, _ in (
        run.store.vector(key, "select", n) for key in (BASE.key, best["key"])
    )]  # fmt: skip
    luck = select_luck(len(points), values[0], values[1])
    return asdict(luck) if luck else None


def _rounding(run: Run, chosen: Candidate | None) -> dict[str, Any] | None:
    if chosen is None or chosen.direction is None:
        return None
    prepared = run.prepared
    storage = prepared.spec.engine.storage or prepared.checkpoint.storage
    found = rounding(
        prepared.checkpoint, chosen.direction, storage, threads=prepared.spec.engine.threads or 1
    )
    return {
        **found,
        "overall": asdict(found["overall"]),
        "groups": [asdict(one) for one in found["groups"]],
        "worst": [asdict(one) for one in found["worst"]],
    }


def _composition(run: Run, chosen: Candidate | None) -> dict[str, Any] | None:
    """What the gain is made of, on the test split if it was scored, else on the gate's; writes the pairs."""
    if chosen is None:
        return None
    split = "test" if run.result("gate").get("test") else "gate"
    task = run.prepared.task
    items = task.splits[split]
    table = _stored(run, split, chosen)
    passed, both = table.success, table.valid[0] & table.valid[1]
    texts = [run.store.texts(key, split) for key in table.keys]
    kinds = classified(task.verifier, items, texts[0], passed[0], passed[1], both)
    pairs: list[Pair] = []
    for index in picked(kinds):
        kind = kinds[index]
        assert kind is not None
        expected = right_answer(task.verifier, items[index])
        outcome = bool(passed[0, index]), bool(passed[1, index])
        both_texts = texts[0][index], texts[1][index]
        pairs.append(pair(index, kind, task.messages(items[index]), expected, both_texts, outcome))
    shown = summary(kinds, pairs)
    publish_json(run.target / SAMPLES, {"split": split, "key": chosen.key, "pairs": plain(pairs)})
    return {"split": split, **asdict(composition(kinds)), "samples": {"shown": len(pairs), **shown}}


def _stored(run: Run, split: str, chosen: Candidate) -> Table:
    """Base and chosen candidate on a split that the gate has scored."""
    n = len(run.prepared.task.splits[split])
    keys = BASE.key, chosen.key
    values, valid, success = map(
        np.array, zip(*(run.store.vector(key, split, n) for key in keys), strict=True)
    )
    return Table(keys, np.array([0.0, chosen.sigma]), values, valid, success)
