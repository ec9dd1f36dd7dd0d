"""Consolidation methods side by side: one scored population, one select split, one test split per method."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corp.operators import PopulationScores
from corp.phases.consolidate import consolidate
from corp.phases.population import population_scores
from corp.phases.run import Run
from corp.phases.search import search_phase
from corp.preflight import assemble, claim, open_run
from corp.spec import JobSpec
from population.direction import Direction
from population.proposal import BASE, Candidate

Emit = Callable[[str, Mapping[str, object]], None]


@dataclass(frozen=True)
class Arm:
    """One method.

    Attributes:
        operator: of the consolidation; several, separated by spaces, are searched together.
        settings: of the operator, where they differ from the study's.
        recenter: spec of the recentering; an arm with one scores a population of its own, of the same size.
    """

    name: str
    operator: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    recenter: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Outcome:
    """What one arm came to.

    Attributes:
        chosen: the candidate, the base where nothing beat it on select.
        base: success of the base per test prompt, shape (n,).
        candidate: success of the chosen candidate.
        support: candidates scored on support.
        select: candidates scored on select.
    """

    arm: str
    chosen: Candidate
    base: npt.NDArray[np.bool_]
    candidate: npt.NDArray[np.bool_]
    support: int
    select: int

    @property
    def gain(self) -> float:
        return float(self.candidate.mean() - self.base.mean())


def compare(spec: JobSpec, folder: Path, target: Path, arms: Sequence[Arm], emit: Emit) -> list[Outcome]:
    """Every arm's choice on the test split.

    What was scored is kept in ``target``; the same call continues there.

    Args:
        spec: the job; its operators and recentering are replaced by each arm's.
        folder: what relative data paths start from.
    """
    run = opened(spec, folder, target / "shared", emit)
    try:
        run.phase("search", lambda: search_phase(run))
        scores = population_scores(run)
        outcomes = [shared(run, scores, arm) for arm in arms if arm.recenter is None]
    finally:
        run.close()
    return outcomes + [alone(spec, folder, target, arm, emit) for arm in arms if arm.recenter is not None]


def opened(spec: JobSpec, folder: Path, target: Path, emit: Emit) -> Run:
    claim(target)
    prepared = open_run(assemble(spec, folder), target)
    return Run(prepared=prepared, target=target, emit=emit, cancelled=lambda: False)


def shared(run: Run, scores: PopulationScores, arm: Arm) -> Outcome:
    """An arm on the common population."""
    spec = with_arm(run.prepared.spec, arm)
    mine = replace(run, prepared=replace(run.prepared, spec=spec))
    result = mine.phase(f"arm-{arm.name}", lambda: consolidate(mine, scores, arm.name))
    return outcome(mine, arm, result, len(scores.keys), result["evaluations"])


def alone(spec: JobSpec, folder: Path, target: Path, arm: Arm, emit: Emit) -> Outcome:
    """An arm whose later candidates depend on its earlier choices."""
    from corp.phases.recenter import recenter_phase

    run = opened(with_arm(spec, arm), folder, target / arm.name, emit)
    known = target / "shared" / "scores.sqlite"
    if known.exists() and not (run.target / known.name).exists():  # equal candidates have equal keys
        shutil.copyfile(known, run.target / known.name)
    try:
        run.phase("search", lambda: search_phase(run))
        first = run.phase("consolidate", lambda: consolidate(run, population_scores(run), "consolidate"))
        result = run.phase("recenter", lambda: recenter_phase(run))
        found = result if result.get("chosen") else first
        support = len(run.sampled) + result.get("candidates", 0)
        return outcome(run, arm, found, support, first["evaluations"] + result.get("evaluations", 0))
    finally:
        run.close()


def with_arm(spec: JobSpec, arm: Arm) -> JobSpec:
    values = spec.model_dump(mode="json")
    values["consolidate"] |= {"operators": arm.operator.split(), **arm.settings}
    if arm.recenter is not None:
        values["recenter"] = dict(arm.recenter)
    return JobSpec.model_validate(values)


def outcome(run: Run, arm: Arm, result: Mapping[str, Any], support: int, select: int) -> Outcome:
    chosen = BASE
    if entry := result["chosen"]:
        chosen = Candidate(entry["key"], Direction.from_json(entry["direction"]), entry["sigma"])
    pair = [BASE] if chosen is BASE else [BASE, chosen]
    table = run.score("test", "test", pair)
    passed = table.success
    return Outcome(arm.name, chosen, passed[0], passed[-1], support, select)
