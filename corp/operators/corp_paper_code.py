"""Stage 1 as the papers' public code computes it (oooranz/CoRP; arXiv 2605.31494), for comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from corp.errors import OperatorInvalid
from corp.operators.cloud import Cloud, Indices
from corp.operators.mean import Elites, grid, stretched
from corp.operators.proposal import Proposal
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from corp.operators.weights import single_seeds, two_passes


@dataclass(frozen=True, slots=True)
class CorpPaperCode:
    """Reads q, beta, scales.

    Rewards are taken as they are and weights may concentrate on one member; a seed at two sigmas is two
    axes; and the best step on select goes on even where it does worse than the centre.
    """

    name: str = "corp_paper_code"
    summary: str = "CoRP as its public code computes it, selection below the base included"

    def propose(self, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
        scores.require_signal()
        points = single_seeds(*_axes(scores))

        def weigh(elite: Indices, beta: float) -> Cloud:
            weights = two_passes(beta * scores.rewards[elite], points[elite])[1].weights
            return Cloud(weights, scores.coefficients[elite])

        chosen = Elites.of(scores, settings.model_copy(update={"min_elites": 1}))
        proposals = stretched(self.name, scores, grid(chosen, settings, weigh), chosen, settings)
        return [replace(proposal, must_beat_base=False) for proposal in proposals]


def _axes(scores: PopulationScores) -> tuple[np.ndarray, list[tuple[int, float]]]:
    """Amplitude of each member, and (seed, amplitude) as the label of its axis.

    Raises:
        OperatorInvalid: a member of several seeds, or of a negative amplitude: that code samples neither.
    """
    axes = [pair for member in scores.perturbations for pair in member.coefficients().items()]
    if len(axes) != len(scores.keys) or min(amplitude for _, amplitude in axes) <= 0:
        raise OperatorInvalid(
            "corp_paper_code takes members of one seed and a positive sigma each",
            hint="use corp for a population sampled around a cloud",
        )
    return np.array([amplitude for _, amplitude in axes]), axes
