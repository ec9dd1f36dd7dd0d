"""The guard tasks' gate splits, scored for base and candidate with the run's engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from corp.gate.guard import Guarded, check
from corp.phases.run import Run
from population.proposal import BASE, Candidate
from verify.task import Task


def guard_results(run: Run, candidate: Candidate, level: float) -> list[Guarded]:
    """One result per guard, in the order of the spec.

    Args:
        level: two-sided level of each guard's interval.
    """
    results = []
    for number, task in enumerate(run.prepared.guards):
        margin = run.prepared.spec.gate.guards[number].margin
        with beside(run, task, f"guard-{number}") as other:
            table = other.score("gate", "gate", [BASE, candidate])
        both = table.valid.all(axis=0)
        base, after = table.success[:, both]
        results.append(check(task.name, base, after, margin=margin, level=level))
    return results


@contextmanager
def beside(run: Run, task: Task, name: str) -> Iterator[Run]:
    """The same model and engine on another task, its scores in RUN/NAME."""
    folder = run.target / name
    folder.mkdir(exist_ok=True)
    other = Run(
        prepared=replace(run.prepared, task=task),
        target=folder,
        emit=run.emit,
        cancelled=run.cancelled,
        clock=run.clock,
        _open={"engine": run.engine},
    )
    other.base_digests = run.base_digests
    try:
        yield other
    finally:
        other.store.close()
