"""`logprob`: how likely the model finds the gold answer. Dense where right answers are rare."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, field_validator

from verify.kinds.kind import Grade, Ungradable, describe, read
from verify.kinds.likelihood import Likelihood, LogProbs
from verify.verdict import Fault, Item


class Logprob(Likelihood):
    """Value: the log-probability of the gold answer after the prompt, at most 0.

    With `choices`, success means that the gold answer is strictly the likeliest of them; without, that the
    value reaches the task's `pass_threshold`.
    """

    kind: ClassVar[str] = "logprob"
    reads_completion: ClassVar[bool] = False

    choices: str | list[str] | None = Field(
        default=None, description="the texts to choose from, or the row field with their list"
    )

    @field_validator("choices")
    @classmethod
    def _several(cls, choices: str | list[str] | None) -> str | list[str] | None:
        if isinstance(choices, list) and (len(set(choices)) < 2 or not all(map(str.strip, choices))):
            raise ValueError("a list of choices has two or more different texts, none of them blank")
        return choices

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field, self.choices) if isinstance(self.choices, str) else (self.field,)

    def continuations(self, item: Item) -> tuple[str, ...]:
        gold = super().continuations(item)
        return gold + tuple(f"{self.prefix}{choice}" for choice in self._others(item))

    def weigh(self, item: Item, completion: str, logprobs: LogProbs) -> Grade:
        gold, *others = map(self.reduced, logprobs)
        # Strictly: a model that finds all choices equally likely knows nothing.
        success = all(gold > other for other in others) if others else None
        return Grade(gold, success=success)

    def says(self, item: Item, logprobs: LogProbs) -> str:
        """The likeliest choice, of equals one that is wrong; nothing where there are no choices."""
        texts = self.asks(item)
        if len(texts) < 2 or len(logprobs) != len(texts) or not all(logprobs):
            return ""
        scores = list(map(self.reduced, logprobs))
        best = max(range(len(texts)), key=lambda at: (scores[at], at > 0))
        return texts[best].removeprefix(self.prefix)

    def _others(self, item: Item) -> list[str]:
        """The choices but the gold one, each once."""
        if self.choices is None:
            return []
        given = read(item, self.choices) if isinstance(self.choices, str) else self.choices
        plain = isinstance(given, list | tuple) and all(isinstance(one, str) and one.strip() for one in given)
        if not plain:
            raise Ungradable(Fault.ITEM_VALUE, f"the item's {self.choices!r} is {describe(given)}, no texts")
        gold, known = self.oracle(item), list(dict.fromkeys(given))
        if gold not in known or len(known) < 2:
            raise Ungradable(
                Fault.ITEM_VALUE, f"the gold answer {describe(gold)} is not one of several choices"
            )
        return [one for one in known if one != gold]
