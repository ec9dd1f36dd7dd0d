"""DARE: drop at random, rescale, average (Yu et al. 2023, arXiv 2311.03099)."""

from __future__ import annotations

from dataclasses import dataclass

from corp.operators.merged import proposals
from corp.operators.proposal import Proposal
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from population.merge import Merge


@dataclass(frozen=True, slots=True)
class Dare:
    """Reads q, beta (its largest), min_ess, min_elites, density, radii.

    A row to compare with: on independent noise the masks only add noise; the cosine with the plain mean is
    the root of the density. The masks are part of each seed's noise, so nothing is drawn here.
    """

    name: str = "dare"
    summary: str = "mean of the elites with most of each dropped at random and the rest rescaled"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()

        def rule(weights: tuple[float, ...]) -> Merge:
            return Merge("dare", settings.density, weights, rescale="inverse")

        return proposals(self.name, scores, settings, rule)
