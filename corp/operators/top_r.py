"""CoRP's mean within the leading dimensions of its own cloud (arXiv 2605.31494, top-r projection)."""

from __future__ import annotations

from dataclasses import dataclass

from corp.errors import NoSignal
from corp.operators.corp import sharpened
from corp.operators.mean import Elites, Mean, distinct, grid, stretched
from corp.operators.proposal import Proposal
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from corp.operators.spectrum import project_mean


@dataclass(frozen=True, slots=True)
class TopR:
    """Reads q, beta, scales, rank, min_ess, min_elites.

    Of an isotropic population the leading dimensions are the heaviest members. Weights that are all equal
    have none: such settings are dropped.
    """

    name: str = "top_r"
    summary: str = "CoRP's mean projected onto the leading dimensions of its cloud"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        chosen = Elites.of(scores, settings)
        found = [
            (setting, Mean(project_mean(mean.cloud, settings.rank), mean.cloud))
            for mean in grid(chosen, settings, sharpened(scores, settings))
            for setting in mean.settings
        ]
        means = distinct((setting, mean) for setting, mean in found if mean.norm > _NOTHING * mean.cloud.norm)
        if not means:
            raise NoSignal(
                f"no mean has a part in the leading {settings.rank} dimensions of its cloud",
                hint="its weights are too equal; raise consolidate.rank or consolidate.beta",
            )
        return stretched(self.name, scores, means, chosen, settings)


_NOTHING = 1e-6
