"""How far candidates move the model, on the first support prompts and along the base's own answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corp.errors import Cancelled
from corp.phases.run import Run
from population.displacement import Displacement, Reference
from population.proposal import BASE, Candidate

if TYPE_CHECKING:
    from population.engines.torch import TorchEngine

POSITIONS = 8
"""Of each prompt's answer: with 64 prompts and 49,152 tokens, the base's log-probabilities take 100 MB."""


class Gauge:
    """Measures a displacement once and keeps it in the run's store: a killed run repeats at most one.

    Args:
        prompts: the first so many of the support split; the baseline phase has scored the base on them.
    """

    def __init__(self, run: Run, prompts: int) -> None:
        self._run = run
        self.prompts = min(prompts, len(run.prepared.task.splits["support"]))
        self._reference: Reference | None = None

    def __call__(self, candidate: Candidate) -> Displacement:
        """Of ``candidate``.

        Raises:
            Cancelled: the run was asked to stop; what was measured is kept.
        """
        store = self._run.store
        store.add_candidate(candidate.key, candidate.direction)
        known = store.displacement(candidate.key, self.prompts)
        if known is None:
            if self._run.cancelled():
                raise Cancelled("stopped while displacements were measured", hint="run it again to continue")
            known = self._measure(self._run.engine, candidate)
            store.put_displacement(candidate.key, self.prompts, known)
        return known

    def _measure(self, engine: TorchEngine, candidate: Candidate) -> Displacement:
        if self._reference is None:  # not before it is needed: a resumed run may find everything stored
            task = self._run.prepared.task
            items = task.splits["support"][: self.prompts]
            answers = self._run.store.texts(BASE.key, "support")[: self.prompts]
            self._reference = Reference(engine, [task.messages(item) for item in items], answers, POSITIONS)
        engine.set_weights(candidate.direction)
        return self._reference.displacement(engine)
