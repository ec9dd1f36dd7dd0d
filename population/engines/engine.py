"""What every engine does, and the values that go in and come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from population.direction import Direction
from verify.prompt import Message

Prompt = Sequence[Message]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to continue a prompt.

    Attributes:
        max_new_tokens: budget of every prompt that has none of its own.
        temperature: 0 is greedy; otherwise logits are divided by it.
        top_p: tokens are drawn from the smallest set whose probability reaches it (nucleus sampling,
            Holtzman et al. 2020).
        seed: a draw depends on it, the prompt's tokens, how often the same prompt came before in the call,
            and the position; never on what else is in the batch.
        stop: strings that end a completion; its text ends before the first of them.
        logprobs: report the log-probability, at temperature 1, of each token produced.
    """

    max_new_tokens: int = 64
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    logprobs: bool = False

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens is {self.max_new_tokens}; it must be at least 1")
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature is {self.temperature}; it must be 0 or more")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}; it must be in (0, 1]")
        if not all(self.stop):
            raise ValueError("a stop string must not be empty")


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer.

    Attributes:
        text: without special tokens, cut before the first stop string.
        token_ids: everything produced, the end-of-sequence token or the token that completed the stop
            string included.
        finish: ``stop`` at an end-of-sequence token or stop string, ``length`` at the budget's end.
        logprobs: one per token of ``token_ids`` if asked for.
        version: the weights that produced it, as returned by ``set_weights``.
    """

    text: str
    token_ids: tuple[int, ...]
    finish: Literal["stop", "length"]
    logprobs: tuple[float, ...] | None
    version: str


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """One prompt under the weights of the moment, at its last token and at those of its answer, p in all.

    Attributes:
        prompt: its index in the call.
        logprobs: log-probability of every token as the next one, float32, (p, vocabulary).
        hidden: what the output head is multiplied with, float32, (p, width).
    """

    prompt: int
    logprobs: npt.NDArray[np.float32]
    hidden: npt.NDArray[np.float32]


class Engine(Protocol):
    """A model whose weights can be switched to any direction and which completes and scores prompts."""

    @property
    def capabilities(self) -> frozenset[str]:
        """What not every engine can do: ``logprobs``, if ``score`` gives log-probabilities."""
        ...

    @property
    def identity(self) -> Mapping[str, object]:
        """Everything but the weights that can change a score: kind, dtypes, threads, sizes, versions."""
        ...

    def set_weights(self, direction: Direction | None) -> str:
        """Make the weights ``base + direction`` and return their version: "base" or the direction's digest.

        Raises:
            DirectionInvalid: a law that does not fit the model.
        """
        ...

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, budgets: Sequence[int] | None = None
    ) -> list[Completion]:
        """Complete every prompt, in their order; ``budgets`` holds each one's limit of new tokens."""
        ...

    def score(
        self, prompts: Sequence[Prompt], continuations: Sequence[str | Sequence[int]]
    ) -> list[list[float]]:
        """Log-probability of every token of each continuation, given as text or as token ids."""
        ...

    def observe(
        self, prompts: Sequence[Prompt], answers: Sequence[str], positions: int
    ) -> Iterator[Observation]:
        """What the model expects after each prompt and along its answer, prompt by prompt in a fixed order.

        At most ``positions`` per prompt: its last token and the answer's first ``positions − 1``.
        """
        ...

    def generate_population(
        self, directions: Sequence[Direction | None], prompts: Sequence[Prompt], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """The completions of all prompts under each direction, in order."""
        ...

    def digest(self) -> str:
        """SHA-256 over the live weights: raw bytes in storage dtype, in checkpoint order."""
        ...

    def close(self) -> None:
        """Give back memory and threads; the engine is unusable afterwards."""
        ...
