"""Verifiers whose value is a log-probability, which only the model that is being scored can tell."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from verify.kinds.kind import Grade, Kind, Ungradable, read_text
from verify.verdict import Fault, Item, Verdict, Verifier

LogProbs = Sequence[Sequence[float]]
"""Of each continuation that was asked for, the natural log-probability of each of its tokens."""

FLOOR = -100.0
"""Nats. Least log-probability of a token, and what stands for NaN: perturbations that break a model's numbers
give the answer no chance, which is a judgement. Single precision has no probability below e^-104."""


class Likelihood(Kind):
    """A kind that has the engine score texts after the item's prompt: `continuations` says which.

    The engine gives the log-probability of every token of these texts under the weights that are being
    scored; `judge` makes a verdict of them. Called like any other verifier, without an engine, its verdicts
    are not valid.
    """

    reads_completion: ClassVar[bool]
    """Whether the model has to answer as well; if not, nothing is generated."""

    field: str = Field(default="answer", description="row field with the gold answer")
    prefix: str = Field(default="", max_length=100, description='put before it, for example " "')
    reduce: Literal["mean", "sum"] = Field(default="mean", description="of the gold answer's tokens")

    @property
    def inner(self) -> Verifier | None:
        """The verifier that judges the completion, where there is one."""
        return None

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field,)

    def continuations(self, item: Item) -> tuple[str, ...]:
        """What the engine is to score after the prompt, the gold answer first.

        Raises:
            Ungradable: the item says nothing that could be scored.
        """
        return (f"{self.prefix}{read_text(item, self.field)}",)

    @abstractmethod
    def weigh(self, item: Item, completion: str, logprobs: LogProbs) -> Grade:
        """What the answer is worth.

        Args:
            completion: empty where none is generated.
            logprobs: one row per continuation, in their order.
        """

    def says(self, item: Item, logprobs: LogProbs) -> str:
        """What stands for a completion where none is generated."""
        return ""

    def asks(self, item: Item) -> tuple[str, ...]:
        """`continuations`, or none where there are none; never raises."""
        try:
            return self.continuations(item)
        except Exception:  # the verdict says why
            return ()

    def judge(self, item: Item, completion: str, logprobs: LogProbs) -> Verdict:
        """The verdict on what the engine found. Never raises."""
        return self._verdict(completion, lambda text: self._weighed(item, text, logprobs))

    def grade(self, item: Item, completion: str) -> Grade:
        raise Ungradable(
            Fault.LOGPROBS, f"{self.kind} needs log-probabilities of the answer, which only an engine has"
        )

    def oracle(self, item: Item) -> str | None:
        return read_text(item, self.field)

    def reduced(self, tokens: Sequence[float]) -> float:
        """Log-probability of a text, in nats, per token where the mean is asked for."""
        total = math.fsum(token if token > FLOOR else FLOOR for token in tokens)
        return total / len(tokens) if self.reduce == "mean" else total

    def _weighed(self, item: Item, completion: str, logprobs: LogProbs) -> Grade:
        wanted = self.continuations(item)
        if len(logprobs) != len(wanted):
            raise Ungradable(Fault.LOGPROBS, f"{len(logprobs)} of {len(wanted)} log-probabilities are there")
        for text, tokens in zip(wanted, logprobs, strict=True):
            if not tokens:
                raise Ungradable(Fault.ITEM_VALUE, f"the model's tokenizer makes no token of {text!r}")
        return self.weigh(item, completion, logprobs)
