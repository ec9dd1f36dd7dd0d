"""How far scoring is and how fast it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from population.block import Block
from population.store import ScoreStore


@dataclass(frozen=True, slots=True)
class Progress:
    """How far scoring is, in prompts.

    Attributes:
        done: durable, those found in the store included.
        total: candidates times prompts.
        rate: prompts per second, of those scored in this call; 0 before the first.
        eta_seconds: time left at that rate, None before there is one.
        candidate: key of the candidate that was scored last.
        mean: its mean value over the valid prompts so far, None where there is none.
    """

    done: int
    total: int
    rate: float
    eta_seconds: float | None
    candidate: str
    mean: float | None

    def to_json(self) -> dict[str, object]:
        return asdict(self)


class Meter:
    """Rate and running means of what was scored in this call."""

    def __init__(self, total: int, missing: int, clock: Callable[[], float]) -> None:
        self._total, self._missing, self._clock = total, missing, clock
        self._begun = clock()
        self._fresh = 0

    def add(self, block: Block) -> None:
        self._fresh += len(block)

    def progress(self, block: Block, store: ScoreStore) -> Progress:
        elapsed = self._clock() - self._begun
        left = self._missing - self._fresh
        rate = self._fresh / elapsed if elapsed > 0 else 0.0
        values, valid, _ = store.scores(block.candidate, block.split)
        return Progress(
            done=self._total - left,
            total=self._total,
            rate=rate,
            eta_seconds=left / rate if rate > 0 else None,
            candidate=block.candidate,
            mean=float(values[valid].mean()) if valid.any() else None,
        )
