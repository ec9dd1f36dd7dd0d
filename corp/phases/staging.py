"""Weights of many candidates from sums that one pass over their common noise makes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from corp.phases.run import Run
from corp.preflight import MARGIN
from population.direction import Direction
from population.proposal import Candidate

if TYPE_CHECKING:
    from population.engines.engine import Engine
    from population.engines.torch import TorchEngine
    from population.sweep import SweepSums

LARGEST_GROUP = 32
"""Sums built at a time: 17 GB of scratch at 135 M weights. More save noise passes but cost disk."""


class Stage:
    """Gives the engine its weights, candidate by candidate, from one scratch file of sums.

    The file takes 4 bytes per weight and sum. Candidates that differ in their step only share a sum. Where
    the disk has no room for all sums, they are built in groups, each costing another pass over the noise.
    Candidates are scored in the order given here, or a group may be built twice.
    """

    def __init__(self, run: Run, candidates: Sequence[Candidate]) -> None:
        self.run = run
        self.noise_values = 0
        self.passes = 0
        self._index: dict[str, int] = {}
        self._sums: SweepSums | None = None
        self._first = 0
        self._count = 0
        known: dict[Direction, int] = {}
        for candidate in candidates:
            if candidate.direction is not None:
                line = replace(candidate.direction, step=1.0)
                self._index[candidate.key] = known.setdefault(line, len(known))
        self._rows = list(known)

    def switch(self, engine: Engine, candidate: Candidate) -> str:
        if candidate.direction is None:
            return engine.set_weights(None)
        row = self._index[candidate.key]
        if self._sums is None or not self._first <= row < self._first + self._count:
            self._build(row)
        assert self._sums is not None
        torch_engine: TorchEngine = self.run.engine
        return torch_engine.set_staged(self._sums, row - self._first, candidate.direction.step)

    def _build(self, first: int) -> None:
        from population.sweep import SweepSums

        self.close()
        prepared = self.run.prepared
        room = shutil.disk_usage(self.run.target).free - MARGIN
        left = min(len(self._rows) - first, LARGEST_GROUP)
        count = max(1, min(left, room // (prepared.perturbed() * 4)))
        self._sums = SweepSums.build(
            prepared.checkpoint,
            self._rows[first : first + count],
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

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
