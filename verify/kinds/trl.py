"""`trl`: reward functions written for TRL's trainers."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from verify.adapters.grader import Grader, Reference
from verify.kinds.kind import Grade
from verify.verdict import Item


class Trl(Grader):
    """The weighted sum of `f(prompts, completions, completion_ids, **columns) -> list[float | None]`.

    Called with lists of one; `columns` are the item's fields, `prompts` holds the item's `prompt`. Token ids
    and the trainer's state are not known here: None stands for them.
    """

    kind: ClassVar[str] = "trl"
    protocol: ClassVar[str] = "trl"

    functions: Annotated[list[Reference], Field(min_length=1, max_length=32)] = Field(
        description="reward functions, each `module:object`"
    )
    weights: list[float] | None = Field(default=None, description="one per function; default: 1 each")
    conversational: bool = Field(
        default=False, description="completions are lists of messages instead of texts"
    )

    @model_validator(mode="after")
    def _a_weight_each(self) -> Trl:
        if self.weights is not None and len(self.weights) != len(self.functions):
            raise ValueError(f"{len(self.functions)} functions and {len(self.weights)} weights")
        return self

    @property
    def references(self) -> tuple[str, ...]:
        return tuple(self.functions)

    def grade(self, item: Item, completion: str) -> Grade:
        return self.judged(item, completion, weights=self.weights, conversational=self.conversational)
