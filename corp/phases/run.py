"""The object that carries a run through its phases."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corp import pause
from corp.errors import Cancelled, Paused
from corp.results import publish_result, read_result

if TYPE_CHECKING:
    from corp.preflight import Prepared
    from population.answering import Draws
    from population.engines.torch import TorchEngine
    from population.proposal import Candidate
    from population.scoring import Progress, Switch, Table
    from population.store import ScoreStore

MIN_VALID = 0.98


@dataclass
class Run:
    """A run directory, its engine and its store, opened when first needed."""

    prepared: Prepared
    target: Path
    emit: Callable[[str, Mapping[str, object]], None]
    cancelled: Callable[[], bool]
    clock: Callable[[], float] = time.monotonic
    _open: dict[str, Any] = field(default_factory=dict)

    def phase(self, name: str, work: Callable[[], Mapping[str, object]]) -> dict[str, Any]:
        """The stored result of phase ``name``, or that of ``work``, stored before this returns."""
        if (self.target / f"{name}.json").exists():
            return self.result(name)
        if self.cancelled():
            raise Cancelled(f"stopped before {name}", hint="run it again to continue")
        self.emit("phase.started", {"phase": name})
        begun = self.clock()
        result = dict(work())
        publish_result(self.target, name, result)
        self.emit("phase.finished", {"phase": name, "seconds": round(self.clock() - begun, 1)})
        return result

    def result(self, name: str) -> dict[str, Any]:
        return read_result(self.target, name)

    @cached_property
    def sampled(self) -> tuple[Candidate, ...]:
        """Every candidate of the search, at the σ that the spec states or phase calibrate has found.

        Raises:
            RunChanged: σ is to be calibrated and was not yet.
        """
        stated = self.prepared.spec.population.sigmas
        return self.prepared.population(self.result("calibrate")["sigmas"] if stated == "auto" else stated)

    @property
    def population(self) -> tuple[Candidate, ...]:
        """The candidates that were scored: those sampled, without the outliers that the search dropped.

        Raises:
            RunChanged: before phase search has finished.
        """
        dropped = {candidate["key"] for candidate in self.result("search")["dropped"]}
        return tuple(candidate for candidate in self.sampled if candidate.key not in dropped)

    def finished(self, name: str) -> bool:
        return (self.target / f"{name}.json").exists()

    @cached_property
    def base_digests(self) -> dict[str, str]:
        """SHA-256 of each weight file of the base; one read of the whole checkpoint."""
        return self.prepared.checkpoint.digests()

    @property
    def engine(self) -> TorchEngine:
        if "engine" not in self._open:
            from population.engines.torch import TorchEngine

            settings = self.prepared.spec.engine
            self.emit("log", {"message": f"loading {self.prepared.spec.model}"})
            self._open["engine"] = TorchEngine(
                self.prepared.checkpoint,
                device=settings.device,
                storage=settings.storage,
                compute=settings.compute,
                batch_size=settings.batch_size,
                threads=settings.threads,
            )
        engine: TorchEngine = self._open["engine"]
        return engine

    @property
    def store(self) -> ScoreStore:
        if "store" not in self._open:
            from population.store import ScoreStore

            identity = {
                "task": self.prepared.task.digest,
                "base": self.base_digests,
                "engine": dict(self.engine.identity),
                "noise": self.prepared.law.to_json(),
            }
            self._open["store"] = ScoreStore.open(self.target / "scores.sqlite", identity)
        store: ScoreStore = self._open["store"]
        return store

    def score(
        self,
        phase: str,
        split: str,
        candidates: Sequence[Candidate],
        switch: Switch | None = None,
        *,
        sampling: Draws | None = None,
        order: int = 0,
    ) -> Table:
        """Score ``candidates`` on every prompt of ``split``; stored blocks are not repeated.

        Args:
            switch, sampling, order: as for ``population.scoring.score``.

        Where the run was paused on this split, what could not be judged is judged once more.

        Raises:
            Paused: as soon as it is certain that fewer than 98 % of the verdicts are valid, or none of one
                candidate is.
        """
        from population.errors import VerdictsInvalid
        from population.scoring import score

        def report(progress: Progress) -> None:
            self.emit("phase.progress", {"phase": phase, "split": split, **progress.to_json()})

        try:
            table = score(
                self.engine,
                self.prepared.task,
                split,
                candidates,
                self.store,
                block_size=self.prepared.spec.engine.batch_size,
                report=report,
                cancelled=self.cancelled,
                switch=switch,
                sampling=sampling,
                order=order,
                least_valid=MIN_VALID,
                again=pause.on(self.target, split),
            )
        except VerdictsInvalid as error:
            facts = {"phase": phase, "task": self.prepared.task.name, **error.shortfall.to_json()}
            raise Paused(error.detail, hint=error.hint, folder=self.target, facts=facts) from None
        pause.lift(self.target, split)
        return table

    def release_engine(self) -> None:
        """Free the model's memory; the next use loads it again."""
        if "engine" in self._open:
            self._open.pop("engine").close()

    def close(self) -> None:
        self.release_engine()
        if "store" in self._open:
            self._open.pop("store").close()
        self.prepared.close()
