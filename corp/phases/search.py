"""The population on the support split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corp.calibration import median, outliers
from corp.errors import CalibrationFailed
from corp.phases.baseline import shaped
from corp.phases.calibrate import finite
from corp.phases.gauge import Gauge
from corp.phases.run import Run
from population.proposal import Candidate

SCREENED = 16
"""Prompts on which a candidate's displacement is measured before it is scored: a prefill, no answers."""


def search_phase(run: Run) -> dict[str, object]:
    """Score every candidate on every support prompt; where σ was calibrated, without the outliers by KL."""
    screened = screen(run, run.sampled)
    dropped = {entry["key"] for entry in screened["dropped"]}
    kept = [candidate for candidate in run.sampled if candidate.key not in dropped]
    table = run.score("search", "support", kept)
    rewards = table.rewards()
    sigmas = np.array([candidate.sigma for candidate in kept])
    levels: list[dict[str, Any]] = [
        {
            "sigma": float(sigma),
            "n": int(np.sum(sigmas == sigma)),
            "mean": float(np.mean(rewards[sigmas == sigma])),
            "best": float(np.max(rewards[sigmas == sigma])),
        }
        for sigma in np.unique(sigmas)
    ]
    return {
        "rewards": rewards.tolist(),
        "shaped": shaped(table),
        "sigmas": sigmas.tolist(),
        "levels": levels,
        "scores_digest": run.store.digest(),
        **screened,
    }


def screen(run: Run, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Every candidate's displacement and which of them are too far out, before any of them answers.

    Raises:
        CalibrationFailed: fewer than two candidates are left.
    """
    settings = run.prepared.spec.calibrate
    if run.prepared.spec.population.sigmas != "auto" or settings.outliers is None:
        return {"dropped": []}
    gauge = Gauge(run, min(SCREENED, settings.prompts))
    kls = []
    for done, candidate in enumerate(candidates, 1):
        kls.append(gauge(candidate).kl)
        run.emit("phase.progress", {"phase": "screen", "done": done, "total": len(candidates)})
    sigmas = [candidate.sigma for candidate in candidates]
    far = outliers(kls, sigmas, settings.outliers)
    if len(candidates) - len(far) < 2:
        raise CalibrationFailed(
            f"{len(far)} of {len(candidates)} candidates break the model",
            hint="lower calibrate.target or the largest of calibrate.levels",
        )
    dropped = [
        {
            "key": candidates[index].key,
            "sigma": sigmas[index],
            "kl": finite(kls[index]),
            "median": finite(median([kl for kl, s in zip(kls, sigmas, strict=True) if s == sigmas[index]])),
        }
        for index in far
    ]
    if dropped:
        run.emit(
            "log", {"message": f"search: {len(dropped)} candidates dropped by their KL, see search.json"}
        )
    return {"dropped": dropped, "screened": {"prompts": gauge.prompts, "kl": list(map(finite, kls))}}
