"""The scored population, from the store, in the form the operators take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corp.operators.scores import PopulationScores
from corp.phases.run import Run
from population.direction import Direction
from population.proposal import BASE, Candidate
from population.table import Table


def population_scores(run: Run) -> PopulationScores:
    """Every candidate of the search and the base on the support split."""
    candidates = run.population
    table = run.score("search", "support", [BASE, *candidates])
    perturbations = [candidate.direction for candidate in candidates if candidate.direction is not None]
    return scored(table, perturbations, candidates)


def scored(
    table: Table, perturbations: Sequence[Direction], candidates: Sequence[Candidate]
) -> PopulationScores:
    """A table whose first row is the centre's, the others the candidates'."""
    values = np.where(table.valid, table.values, np.nan)
    return PopulationScores(
        tuple(candidate.key for candidate in candidates),
        tuple(perturbations),
        np.array([candidate.sigma for candidate in candidates], np.float64),
        values[1:],
        values[0],
        table.success[1:],
        table.success[0],
    )
