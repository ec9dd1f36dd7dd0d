"""Which displacement makes a useful population? ``python -m benchmarks.calibration [--model DIR]``.

A population of several levels of σ, each found for a stated displacement, is screened and scored as by
``corp run``. Per level: the displacement, how reliable the scores are, how they lie around the base's, and,
for the pocket model, what the level's members alone are worth once consolidated (test split). With
``--model``, the real model's levels on ``examples/tasks/larger.yaml``, without consolidation.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pocket import ADDITION
from corp.calibration import median
from corp.operators import PopulationScores
from corp.operators.reliability import reliability
from corp.phases.baseline import baseline_phase
from corp.phases.calibrate import calibrate_phase
from corp.phases.consolidate import consolidate
from corp.phases.population import population_scores
from corp.phases.run import Run
from corp.phases.search import search_phase
from corp.preflight import assemble, claim, open_run
from corp.spec import JobSpec, parse
from corp.taskfiles import read_yaml
from examples import pocket
from population.direction import Direction
from population.proposal import BASE, Candidate

TASKS = Path(__file__).parents[1] / "examples" / "tasks"
TARGET = 0.05
FACTORS = (0.25, 0.45, 0.7, 1.0, 1.5, 2.4)
"""On the σ of the target: KL grows with the square, so from 0.003 to 0.3 nats."""

COLUMNS = ("sigma", "KL", "spread", "reliability", "better", "mean", "best", "gain")


@dataclass(frozen=True)
class Level:
    """One σ.

    Attributes:
        kl: median of its members.
        spread: standard deviation of their log KL.
        reliability: of their rewards, as operators see it.
        better: share of members above the base.
        mean: of their rewards, less the base's; so for ``best``.
        gain: of the consolidated level over the base on the test split; NaN where it was not consolidated.
    """

    sigma: float
    kl: float
    spread: float
    reliability: float
    better: float
    mean: float
    best: float
    gain: float = float("nan")

    def cells(self) -> tuple[float, ...]:
        points = [100 * value for value in (self.better, self.mean, self.best, self.gain)]
        return self.sigma, self.kl, self.spread, self.reliability, *points


def pocket_job(model: Path, size: int, scale: str, scope: str) -> JobSpec:
    data = {
        "model": str(model),
        "task": ADDITION | {"splits": {"support": 400, "select": 500, "gate": 30, "test": 2000}},
        "population": {"size": size, "scale": scale, "scope": scope, "seed": 1},
        "consolidate": {"operators": ["es"], "radii": [0.25, 0.5, 0.75, 1, 1.5, 2, 3]},
        "engine": {"batch_size": 500, "threads": 1},
        "calibrate": CALIBRATE,
    }
    return parse(data, "the pocket job")


def real_job(model: Path, size: int, scale: str, scope: str) -> JobSpec:
    data = {
        "model": str(model),
        "task": read_yaml(TASKS / "larger.yaml"),
        "population": {"size": size, "scale": scale, "scope": scope, "seed": 1},
        "engine": {"threads": 1},
        "calibrate": CALIBRATE,
    }
    return parse(data, "the real job")


CALIBRATE: Mapping[str, Any] = {"target": TARGET, "levels": FACTORS, "outliers": 1e6}  # none is dropped


@contextmanager
def scored(spec: JobSpec, target: Path) -> Iterator[Run]:
    """The job up to its scored population."""
    prepared = assemble(spec, TASKS)
    claim(target)
    run = Run(prepared=open_run(prepared, target), target=target, emit=_quiet, cancelled=lambda: False)
    try:
        run.phase("baseline", lambda: baseline_phase(run))
        run.phase("calibrate", lambda: calibrate_phase(run))
        run.phase("search", lambda: search_phase(run))
        yield run
    finally:
        run.close()


def levels(run: Run) -> list[Level]:
    scores = population_scores(run)
    kls = np.array(run.result("search")["screened"]["kl"], np.float64)
    base = float(np.nanmean(scores.base))
    found = []
    for sigma, members in scores.levels.items():
        rewards = scores.rewards[members]
        found.append(
            Level(
                sigma,
                median(kls[members].tolist()),
                float(np.std(np.log(kls[members]), ddof=1)),
                reliability(scores.values[members]),
                float(np.mean(rewards > base)),
                float(np.mean(rewards)) - base,
                float(np.max(rewards)) - base,
            )
        )
    return found


def gain(run: Run, sigmas: tuple[float, ...]) -> float:
    """Of what the members at ``sigmas`` consolidate to, over the base, on the test split."""
    scores = population_scores(run)
    chosen: Any = consolidate(run, subset(scores, sigmas), f"consolidate-{sigmas[0]:g}")["chosen"]
    if chosen is None:
        return 0.0
    candidate = Candidate(chosen["key"], Direction.from_json(chosen["direction"]), chosen["sigma"])
    rewards = run.score("test", "test", [BASE, candidate]).rewards()
    return float(rewards[1] - rewards[0])


def subset(scores: PopulationScores, sigmas: tuple[float, ...]) -> PopulationScores:
    kept = np.flatnonzero(np.isin(scores.sigmas, sigmas))
    return replace(
        scores,
        keys=tuple(scores.keys[at] for at in kept),
        perturbations=tuple(scores.perturbations[at] for at in kept),
        sigmas=scores.sigmas[kept],
        values=scores.values[kept],
        success=scores.success[kept],
    )


def table(title: str, rows: list[Level]) -> None:
    print(f"\n{title}\n" + "".join(f"{name:>13}" for name in COLUMNS), flush=True)
    for row in rows:
        print("".join(f"{cell:13.4g}" for cell in row.cells()), flush=True)


def pocket_study(seeds: int, size: int, scale: str, scope: str, folder: Path) -> None:
    """Levels of the pocket model, one table per training seed and one of their means."""
    everything: list[list[Level]] = []
    for seed in range(seeds):
        model = folder / f"pocket-{seed}"
        if not model.exists():
            pocket.train(model, seed)
        with scored(pocket_job(model, size, scale, scope), folder / f"run-{seed}-{scale}-{scope}") as run:
            rows = [replace(row, gain=gain(run, (row.sigma,))) for row in levels(run)]
        table(f"pocket model, training seed {seed}, {size // len(FACTORS)} per level, {scale}, {scope}", rows)
        everything.append(rows)
    means = np.mean([[row.cells() for row in rows] for rows in everything], axis=0)
    print(f"\nmeans of {seeds} seeds\n" + "".join(f"{name:>13}" for name in COLUMNS))
    for cells in means:
        print("".join(f"{cell:13.4g}" for cell in cells), flush=True)


def _quiet(kind: str, data: Mapping[str, object]) -> None:
    if kind == "log":
        print(data["message"], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--model", type=Path, help="directory of SmolLM2-135M-Instruct, instead of the pocket model"
    )
    parser.add_argument("--size", type=int, help="candidates in all; default 36, of the pocket model 240")
    parser.add_argument("--seeds", type=int, default=5, help="training seeds of the pocket model")
    parser.add_argument("--scale", default="isotropic", help="isotropic, rms or modular")
    parser.add_argument("--scope", default="all", help="population.scope")
    parser.add_argument("--folder", type=Path, help="keeps models and runs, which are then continued")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (arguments.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.model:
            spec = real_job(arguments.model, arguments.size or 36, arguments.scale, arguments.scope)
            with scored(spec, folder / f"run-{arguments.scale}-{arguments.scope}") as run:
                table(f"{arguments.model.name}, larger, {arguments.scale}, {arguments.scope}", levels(run))
            return
        pocket_study(arguments.seeds, arguments.size or 240, arguments.scale, arguments.scope, folder)


if __name__ == "__main__":
    main()
