"""TIES: trim, elect signs, average what agrees (Yadav et al. 2023, arXiv 2306.01708)."""

from __future__ import annotations

from dataclasses import dataclass

from corp.operators.merged import proposals
from corp.operators.proposal import Proposal
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from population.merge import Merge


@dataclass(frozen=True, slots=True)
class Ties:
    """Reads q, beta (its largest), min_ess, min_elites, density, radii.

    A row to compare with: large coordinates of independent noise carry no more signal than small ones, so
    trimming loses some of it, and electing signs selects noise instead of averaging it away.
    """

    name: str = "ties"
    summary: str = "sparse merge of the elites: trimmed, signs elected, agreeing members averaged"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()

        def rule(weights: tuple[float, ...]) -> Merge:
            return Merge("ties", settings.density, weights, sign_weighting="paper")

        return proposals(self.name, scores, settings, rule)
