"""Where the service keeps its things below its data directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """``DATA/jobs.sqlite``, ``DATA/jobs/<id>/run`` and the lock files."""

    data: Path

    @property
    def database(self) -> Path:
        return self.data / "jobs.sqlite"

    @property
    def serve_lock(self) -> Path:
        return self.data / "serve.lock"

    @property
    def worker_log(self) -> Path:
        return self.data / "worker.log"

    def worker_lock(self, worker: str) -> Path:
        """Held by a worker as long as it lives: how everybody else knows that it does."""
        return self.data / "workers" / f"{worker}.lock"

    def job(self, job: str) -> Path:
        return self.data / "jobs" / job

    def run(self, job: str) -> Path:
        """The run directory, the same that ``corp run --out`` makes."""
        return self.job(job) / "run"

    def checkpoint(self, job: str) -> Path:
        return self.run(job) / "checkpoint"

    def job_log(self, job: str) -> Path:
        return self.job(job) / "worker.log"
