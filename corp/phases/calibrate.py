"""The σ at which perturbations of this model move its answers by the stated displacement."""

from __future__ import annotations

import math
from typing import Any

from corp.calibration import levels, median, search
from corp.phases.gauge import Gauge
from corp.phases.run import Run
from population.displacement import probe
from population.scaletable import root_mean_square

START, BOUNDS = 0.03, (1e-5, 3.0)
"""First σ, and the least and most, in units of the RMS of the weights in scope: from 0.001, the papers', for
weights of 0.03, and from 0.0055 for SmolLM2's of 0.18, which needs 0.006."""


def calibrate_phase(run: Run) -> dict[str, object]:
    """Search σ with fresh seeds on support prompts, labels unseen, and set the population's levels by it."""
    prepared, settings = run.prepared, run.prepared.spec.calibrate
    gauge = Gauge(run, settings.prompts)
    probes: list[dict[str, Any]] = []

    def measure(sigma: float) -> float:
        seed = prepared.spec.population.seed
        found = [gauge(probe(index, sigma, seed, prepared.law)) for index in range(settings.probes)]
        middle = median([displacement.kl for displacement in found])
        probes.append(
            {
                "sigma": sigma,
                "median": finite(middle),
                "kl": [finite(displacement.kl) for displacement in found],
                "hidden": [finite(displacement.hidden) for displacement in found],
            }
        )
        run.emit("log", {"message": f"calibrate: sigma {sigma:g} moves the model by {middle:.3g} nats"})
        return middle

    unit = root_mean_square(prepared.checkpoint, prepared.law) or 1.0
    point = search(measure, settings.target, START * unit, (BOUNDS[0] * unit, BOUNDS[1] * unit))
    return {
        "split": "support",
        "prompts": gauge.prompts,
        "target": settings.target,
        "sigma": point.sigma,
        "kl": point.kl,
        "sigmas": list(levels(point.sigma, settings.levels)),
        "probes": probes,
    }


def finite(value: float) -> float | None:
    """``value`` for JSON, which has no infinity: None where a model's numbers broke."""
    return value if math.isfinite(value) else None
