"""Operators propose directions; a line search on the select split picks one step along one of them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corp.errors import NoSignal
from corp.operators import OPERATORS, Proposal
from corp.phases.run import Run
from corp.preflight import MARGIN
from population.proposal import BASE, Candidate

if TYPE_CHECKING:
    from population.engines.engine import Engine
    from population.engines.torch import TorchEngine
    from population.sweep import SweepSums


@dataclass(frozen=True)
class Point:
    """One step along one proposed direction."""

    proposal: int
    scale: float
    candidate: Candidate


def consolidate_phase(run: Run) -> dict[str, object]:
    """Score every (direction, scale) on select and choose the best, or say why there is none."""
    try:
        proposals = propose(run)
    except NoSignal as error:
        return {"chosen": None, "reason": str(error), "proposals": [], "points": []}
    points = line(proposals, run.prepared.spec.consolidate.scales)
    stage = Stage(run, proposals, {point.candidate.key: point.proposal for point in points})
    try:
        table = run.score(
            "consolidate", "select", [BASE, *(point.candidate for point in points)], stage.switch
        )
    finally:
        stage.close()
    rewards = table.rewards()
    best = choose(points, rewards[1:])
    result: dict[str, object] = {
        "base": float(rewards[0]),
        "proposals": [describe(proposal) for proposal in proposals],
        "points": [
            {
                "key": point.candidate.key,
                "proposal": point.proposal,
                "scale": point.scale,
                "select": float(reward),
            }
            for point, reward in zip(points, rewards[1:], strict=True)
        ],
        "noise_values": stage.noise_values,
        "noise_passes": stage.passes,
    }
    return result | verdict(points[best], float(rewards[1:][best]), float(rewards[0]))


def propose(run: Run) -> list[Proposal]:
    """Every operator's directions, one entry for directions that two operators share."""
    spec = run.prepared.spec.consolidate
    rewards = np.array(run.result("search")["rewards"], dtype=np.float64)
    found: dict[str, Proposal] = {}
    for name in spec.operators:
        for proposal in OPERATORS[name].propose(rewards, run.prepared.population, spec.q, spec.beta):
            found.setdefault(proposal.direction.digest(), proposal)
    return list(found.values())


def line(proposals: Sequence[Proposal], scales: Sequence[float]) -> list[Point]:
    """Steps of scale · ‖μ‖ along each unit direction (CoRP stage 1, step 6)."""
    points = []
    for index, proposal in enumerate(proposals):
        for scale in scales:
            step = scale * proposal.norm
            key = f"{proposal.name}-{proposal.direction.digest()[:12]}@{scale:g}"
            points.append(Point(index, scale, Candidate(key, proposal.direction * step, step)))
    return points


def choose(points: Sequence[Point], rewards: np.ndarray[Any, np.dtype[np.float64]]) -> int:
    """Best reward on select; of equals the shortest step, which stays nearest to the base."""
    return min(range(len(points)), key=lambda i: (-rewards[i], points[i].candidate.sigma, i))


def verdict(best: Point, reward: float, base: float) -> dict[str, object]:
    if reward <= base:
        reason = f"no proposal beat the base on select (best {reward:.3f}, base {base:.3f})"
        return {"chosen": None, "reason": reason}
    direction = best.candidate.direction
    assert direction is not None
    return {
        "chosen": {
            "key": best.candidate.key,
            "proposal": best.proposal,
            "scale": best.scale,
            "sigma": best.candidate.sigma,
            "select": reward,
            "direction": direction.to_json(),
        },
        "reason": f"{best.candidate.key} is best on select: {reward:.3f} against {base:.3f}",
    }


def describe(proposal: Proposal) -> dict[str, object]:
    return {
        "operator": proposal.name,
        "norm": proposal.norm,
        "elites": len(proposal.direction.components),
        "why": proposal.why,
    }


class Stage:
    """Weights for the line search, from sums that one pass over the elites' noise made.

    The sums lie in a scratch file of 4 bytes per weight and direction. Where the disk has no room for
    all directions, they are built in as few groups as fit, each costing another pass.
    """

    def __init__(self, run: Run, proposals: Sequence[Proposal], index: dict[str, int]) -> None:
        self.run = run
        self.proposals = proposals
        self.index = index
        self.noise_values = 0
        self.passes = 0
        self._sums: SweepSums | None = None
        self._first = 0
        self._count = 0

    def switch(self, engine: Engine, candidate: Candidate) -> str:
        if candidate.direction is None:
            return engine.set_weights(None)
        proposal = self.index[candidate.key]
        if self._sums is None or not self._first <= proposal < self._first + self._count:
            self._build(proposal)
        assert self._sums is not None
        torch_engine: TorchEngine = self.run.engine
        return torch_engine.set_staged(self._sums, proposal - self._first, candidate.direction.step)

    def _build(self, first: int) -> None:
        from population.sweep import SweepSums

        self.close()
        prepared = self.run.prepared
        room = shutil.disk_usage(self.run.target).free - MARGIN
        count = max(1, min(len(self.proposals) - first, room // (prepared.perturbed() * 4)))
        self._sums = SweepSums.build(
            prepared.checkpoint,
            [proposal.direction for proposal in self.proposals[first : first + count]],
            self.run.target / "sweep.scratch",
            threads=prepared.spec.engine.threads or 1,
        )
        self._first, self._count = first, count
        self.noise_values += self._sums.noise_values
        self.passes += 1

    def close(self) -> None:
        if self._sums is not None:
            self._sums.close()
            self._sums = None
