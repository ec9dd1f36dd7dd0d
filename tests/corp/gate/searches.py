"""Whole searches without a model: prompts answer by chance, everything that decides is the product's.

A model answers a prompt right where a latent number is above 0:

    t + sqrt(RHO) u + sqrt(1 - RHO) e

with t the prompt's difficulty, u luck that base and all candidates share on this prompt (they are nearly the
same model) and e the model's own. A direction with unit coefficients a over the seeds has e = <a, w> + shift,
where w is the prompt's response to each seed: directions made of the same members answer alike, as they do in
life. The base has an e of its own, so that without a shift base and candidate can be exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from corp.errors import NoSignal
from corp.gate.family import Policy, judge
from corp.gate.spending import level
from corp.linesearch import Point, finalists, line
from corp.operators import OPERATORS, OperatorSettings, PopulationScores, Proposal
from population.direction import Component, Direction, Law
from population.proposal import Candidate
from tests.corp.operators.populations import marked

RHO = 0.7
"""Base and an equally good candidate then differ on 18 % of the prompts."""
SAME_LINE = 0.95
"""Correlation of e between two scales of one direction."""
SUPPORT, SELECT, GATE = 48, 48, 200
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
NODES = _NODES, _WEIGHTS / _WEIGHTS.sum()
"""Quadrature over a standard normal."""

Array = np.ndarray


class Prompts:
    """A split: what its prompts have in common over all models."""

    def __init__(self, n: int, seeds: int, rng: np.random.Generator) -> None:
        self.shared = rng.normal(-0.3, 1.0, n) + np.sqrt(RHO) * rng.normal(size=n)
        self.responses = rng.normal(size=(seeds, n))
        self.base = self._right(rng.normal(size=n))
        self.rng = rng

    def outcomes(self, coefficients: Array, shifts: Array) -> Array:
        """Right or wrong per candidate and prompt; unit coefficients of shape (K, seeds)."""
        own = self.rng.normal(size=(len(coefficients), self.shared.size))
        e = SAME_LINE * (coefficients @ self.responses) + np.sqrt(1 - SAME_LINE**2) * own
        return self._right(e + shifts[:, None])

    def _right(self, e: Array) -> Array:
        return self.shared + np.sqrt(1 - RHO) * e > 0


def cells(shift: float) -> tuple[float, float]:
    """P(fix) and P(regression) of a candidate with that shift, by quadrature over what is shared."""
    nodes, weights = NODES
    shared = -0.3 + np.sqrt(1 + RHO) * nodes
    base, candidate = (ndtr(shared / np.sqrt(1 - RHO) + s) for s in (0.0, shift))
    return float(weights @ ((1 - base) * candidate)), float(weights @ (base * (1 - candidate)))


@dataclass(frozen=True)
class Steps:
    """What the operators propose on one scored population.

    Attributes:
        proposals: what the operators made of it.
        points: of the line search.
        coefficients: of each point over the population's seeds, unit rows, shape (points, members).
        shifts: true effect of each point.
    """

    proposals: list[Proposal]
    points: list[Point]
    coefficients: Array
    shifts: Array


@dataclass(frozen=True, eq=False)
class Search:
    """One kind of search, repeated.

    Attributes:
        operators, settings: as in a job.
        proposals: registered for the gate.
        rounds: looks of recentering before the final one.
        size: members of a population.
        strength: shift of a step straight along the planted direction; 0 for none.
        splits: searches that share a scored population and have select and gate prompts of their own.
        seen: the true shift of the first finalist of every look.
    """

    operators: Sequence[str]
    settings: OperatorSettings
    proposals: int = 1
    rounds: int = 0
    size: int = 32
    strength: float = 0.0
    policy: Policy = "strict"
    alpha: float = 0.05
    gate: int = GATE
    splits: int = 1
    seen: list[float] = field(default_factory=list)

    def accepts(self, seed: int) -> bool:
        """Whether any look accepts anything."""
        rng = np.random.default_rng(seed)
        select, gate = (Prompts(n, (self.rounds + 1) * self.size, rng) for n in (SELECT, self.gate))
        spent = 0.0
        for number in range(self.rounds + 1):
            share = level(self.alpha, number + 1, self.rounds) if number < self.rounds else self.alpha - spent
            spent += share
            steps = propose(self, (seed // self.splits, number))
            if steps.points and self._look(number, steps, select, gate, share):
                return True
        return False

    def _look(self, number: int, steps: Steps, select: Prompts, gate: Prompts, share: float) -> bool:
        """Line search on select, then the gate on what is registered."""
        members = select.responses.shape[0]
        coefficients = np.zeros((len(steps.points), members))
        coefficients[:, number * self.size : (number + 1) * self.size] = steps.coefficients
        rewards = select.outcomes(coefficients, steps.shifts).mean(axis=1)
        base = float(select.base.mean())
        registered = finalists(steps.points, rewards, base, self.proposals, steps.proposals)
        keys = [point.candidate.key for point in steps.points]
        rows = [keys.index(one["key"]) for one in registered]
        if not rows:
            return False
        self.seen.append(float(steps.shifts[rows[0]]))
        answers = gate.outcomes(coefficients[rows], steps.shifts[rows])
        pairs = [(gate.base.astype(float), answer.astype(float)) for answer in answers]
        return any(one.accepted for one in judge(pairs, policy=self.policy, alpha=share))


@lru_cache(maxsize=8)
def propose(search: Search, key: tuple[int, int]) -> Steps:
    """Search and consolidation of population ``key``."""
    rng = np.random.default_rng(key)
    planted = rng.normal(size=search.size)
    planted *= search.strength / np.linalg.norm(planted)
    support = Prompts(SUPPORT, search.size, rng)
    values = support.outcomes(np.eye(search.size), planted).astype(float)
    sigmas = np.where(np.arange(search.size) % 2, 0.02, 0.01)
    scores = marked(
        tuple(f"c{i}" for i in range(search.size)),
        tuple(Direction((Component(i, sigma),), Law()) for i, sigma in enumerate(sigmas)),
        sigmas,
        values,
        support.base.astype(float),
    )
    found = [one for name in search.operators for one in proposals(name, scores, search.settings)]
    points = line(found)
    coefficients = np.array([unit(point.candidate, search.size) for point in points])
    return Steps(found, points, coefficients, coefficients @ planted if points else np.empty(0))


def proposals(name: str, scores: PopulationScores, settings: OperatorSettings) -> list[Proposal]:
    try:
        return OPERATORS[name].propose(scores, settings)
    except NoSignal:
        return []


def unit(candidate: Candidate, members: int) -> Array:
    row = np.zeros(members)
    for seed, amplitude in candidate.direction.coefficients().items():
        row[seed] = amplitude
    return row / np.linalg.norm(row)
