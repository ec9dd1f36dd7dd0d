"""How far weights move a model, measured in what it does and not in what it is made of.

Two distances on prompts without labels: the symmetric KL divergence of the next-token distributions, and the
relative change of the final hidden state. σ means something else in every family of models, and in every
scope and scale table; a displacement does not. Both are taken where the model decides what to answer: after
the prompt and along the base's own answer. Inside a prompt most tokens belong to a template, which every
model continues with certainty, and their zeros would make the mean depend on the template's length.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from population.direction import Component, Direction, Law
from population.proposal import Candidate

if TYPE_CHECKING:
    from population.engines.engine import Observation, Prompt

LIMIT = 1 << 28
"""Bytes of the base's log-probabilities that are kept: 64 prompts at 4 positions of 262,144 tokens."""

Matrix = npt.NDArray[np.float32]


class Observer(Protocol):
    """The part of an engine that a displacement needs."""

    def set_weights(self, direction: Direction | None) -> str: ...

    def observe(
        self, prompts: Sequence[Prompt], answers: Sequence[str], positions: int
    ) -> Iterator[Observation]: ...


@dataclass(frozen=True, slots=True)
class Displacement:
    """Of a model from its base.

    Attributes:
        kl: (KL(p‖q) + KL(q‖p)) / 2 of the next-token distributions, nats per token, mean over positions;
            infinite where the moved model's numbers are not finite.
        hidden: ‖h − h₀‖ / ‖h₀‖ of the final hidden state, root mean square over positions; infinite likewise.
    """

    kl: float
    hidden: float

    @property
    def finite(self) -> bool:
        return math.isfinite(self.kl) and math.isfinite(self.hidden)


class Reference:
    """What the base does on ``prompts``, for comparison; kept in memory, at most ``LIMIT`` bytes of it.

    Args:
        engine: its weights are the base's afterwards.
        answers: the base's own, one per prompt.
        positions: most per prompt, the prompt's last token included; fewer where ``LIMIT`` asks for it.

    Attributes:
        positions: most that are observed per prompt.

    Raises:
        ValueError: no prompt, or no position.
    """

    def __init__(
        self, engine: Observer, prompts: Sequence[Prompt], answers: Sequence[str], positions: int
    ) -> None:
        if not prompts:
            raise ValueError("a displacement is measured on at least one prompt")
        self._prompts, self._answers = prompts, answers
        engine.set_weights(None)
        vocabulary = next(engine.observe(prompts[:1], answers[:1], 1)).logprobs.shape[-1]
        self.positions = positions_within(LIMIT, len(prompts), vocabulary, positions)
        self._base = list(engine.observe(prompts, answers, self.positions))

    def displacement(self, engine: Observer) -> Displacement:
        """Of the engine's weights of now."""
        divergence, moved, length, count = 0.0, 0.0, 0.0, 0
        seen = engine.observe(self._prompts, self._answers, self.positions)
        for before, now in zip(self._base, seen, strict=True):
            divergence += float(symmetric_kl(before.logprobs, now.logprobs).sum())
            moved += _square(now.hidden.astype(np.float64) - before.hidden)
            length += _square(before.hidden.astype(np.float64))
            count += len(before.logprobs)
        return Displacement(_or_infinite(divergence / count), _or_infinite(math.sqrt(moved / length)))


def probe(index: int, sigma: float, seed: int, law: Law) -> Candidate:
    """Perturbation ``index`` of a series that shares no seed with the population of ``seed``.

    Its noise is the same at every σ. Seeds are BLAKE2b-64 of "probe", where a population's are of
    "population" (population.proposal).
    """
    digest = hashlib.blake2b(f"probe\0{seed}\0{index}".encode(), digest_size=8).digest()
    component = Component(int.from_bytes(digest, "little"), sigma)
    return Candidate(f"probe{index}@{sigma!r}", Direction((component,), law), sigma)


def positions_within(limit: int, prompts: int, vocabulary: int, wanted: int) -> int:
    """As many of the ``wanted`` positions as ``limit`` bytes of log-probabilities hold; at least one."""
    return max(1, min(wanted, limit // (4 * prompts * vocabulary)))


def symmetric_kl(p: Matrix, q: Matrix) -> npt.NDArray[np.float64]:
    """(KL(p‖q) + KL(q‖p)) / 2 per row, in nats, of two tables of log-probabilities, (rows, tokens).

    Equals Σ (eᵖ − e^q)(p − q) / 2, whose every term is ≥ 0: nothing cancels, so float32 is enough. NaN for a
    row that holds one.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        both_zero = np.isneginf(p) & np.isneginf(q)
        terms = (np.exp(p) - np.exp(q)) * np.where(both_zero, 0.0, p - q)
        total: npt.NDArray[np.float64] = terms.sum(axis=-1, dtype=np.float64) / 2
    return total


def _square(values: npt.NDArray[np.float64]) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.square(values).sum())


def _or_infinite(value: float) -> float:
    return value if math.isfinite(value) else math.inf
