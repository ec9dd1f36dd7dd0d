"""The population on the support split."""

from __future__ import annotations

from typing import Any

import numpy as np

from corp.phases.run import Run


def search_phase(run: Run) -> dict[str, object]:
    """Score every candidate on every support prompt."""
    table = run.score("search", "support", run.prepared.population)
    rewards = table.rewards()
    sigmas = np.array([candidate.sigma for candidate in run.prepared.population])
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
        "sigmas": sigmas.tolist(),
        "levels": levels,
        "scores_digest": run.store.digest(),
    }
