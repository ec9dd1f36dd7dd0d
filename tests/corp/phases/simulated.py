"""A run whose model is a formula: answers follow from the coefficients of a direction, in microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from corp.phases.consolidate import consolidate_phase
from corp.phases.recenter import recenter_phase
from corp.phases.run import Run
from corp.spec import JobSpec, parse
from population.direction import Law
from population.proposal import Candidate, isotropic
from population.table import Table
from tests.corp.jobs import ignore, never, pocket_job

PROMPTS = {"support": 120, "select": 120, "gate": 200}
LAW = Law()


class Killed(Exception):
    """The process is gone."""


@dataclass
class Simulated(Run):
    """Passes prompt m where easiness_m + strength * Σ a_s g_s + Σ a_s h_sm - curvature * |a|² > 0.

    g_s, what noise s does for all prompts, and h_sm, what it does to one, are standard normal; a is in units
    of 0.01.

    Attributes:
        strength: of what generalises; 0 for a search that has nothing to find.
        left: candidates that are still scored before the process is killed.
        asked: the store: (split, key) of everything that was scored.
    """

    strength: float = 0.3
    curvature: float = 0.01
    left: int = 10**9
    asked: dict[tuple[str, str], Candidate] = field(default_factory=dict)

    def score(self, phase: str, split: str, candidates: Sequence[Candidate], *_: Any, **__: Any) -> Table:
        for candidate in candidates:
            if (split, candidate.key) not in self.asked:
                self.left -= 1
                if self.left < 0:
                    raise Killed
            known = self.asked.setdefault((split, candidate.key), candidate)
            assert known.direction == candidate.direction, "a key stands for one direction"
        values = np.array([self.answers(split, candidate) for candidate in candidates], np.float64)
        keys = tuple(candidate.key for candidate in candidates)
        sigmas = np.array([candidate.sigma for candidate in candidates])
        return Table(keys, sigmas, values, np.ones(values.shape, np.bool_), values == 1)

    def answers(self, split: str, candidate: Candidate) -> npt.NDArray[np.bool_]:
        n = PROMPTS[split]
        level = np.random.default_rng([7, *split.encode()]).normal(size=n)
        if candidate.direction is None:
            return level > 0
        for seed, coefficient in candidate.direction.coefficients().items():
            general, own = effect(seed, split)
            level = level + coefficient / 0.01 * (self.strength * general + 0.5 * own)
        return level - self.curvature * (candidate.direction.norm() / 0.01) ** 2 > 0


@cache
def effect(seed: int, split: str) -> tuple[float, npt.NDArray[np.float64]]:
    """g_s and h_sm."""
    key = [seed % 2**32, seed >> 32]
    general = float(np.random.default_rng(key).normal())
    return general, np.random.default_rng([*key, *split.encode()]).normal(size=PROMPTS[split])


def spec(**sections: Any) -> JobSpec:
    job = pocket_job(
        Path("model"), **{"population": {"size": 80, "sigmas": [0.01, 0.02], "seed": 3}} | sections
    )
    return parse(job, "the test's job")


def simulated(target: Path, job: JobSpec, **fields: Any) -> Simulated:
    target.mkdir(exist_ok=True)
    items = [{"n": n} for n in range(PROMPTS["gate"])]
    prepared = SimpleNamespace(
        spec=job,
        law=LAW,
        task=SimpleNamespace(splits={"gate": items}),
        population=lambda sigmas: isotropic(job.searched(), sigmas, job.population.seed, LAW),
    )
    return Simulated(cast(Any, prepared), target, ignore, never, **fields)


def recentered(run: Run) -> dict[str, Any]:
    """What recentering finds, from the search on, as a run does it."""
    run.phase("search", lambda: {"dropped": []})
    run.phase("consolidate", lambda: consolidate_phase(run))
    return run.phase("recenter", lambda: recenter_phase(run))
