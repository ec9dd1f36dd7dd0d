"""The base and its null copy on the support split."""

from __future__ import annotations

import numpy as np

from corp.phases.run import Run
from population.proposal import BASE, null_candidate


def baseline_phase(run: Run) -> dict[str, object]:
    """Score the base, and a candidate with σ = 0 that takes the perturbed candidates' whole path.

    On a deterministic engine the two agree on every prompt; where they do not, the difference is the
    noise floor below which no gain means anything.
    """
    table = run.score("baseline", "support", [BASE, null_candidate(run.prepared.law)])
    base = float(table.rewards()[0])
    if np.ptp(table.values[0]) == 0:
        message = (
            f"warning: the base's reward is {base:g} on every support prompt; where perturbed models get"
            " the same, the job can only abstain. Check the verifier and max_new_tokens"
        )
        run.emit("log", {"message": message})
    differing = int(np.sum(table.values[0] != table.values[1]))
    return {"base": base, "null": float(table.rewards()[1]), "null_differs": differing}
