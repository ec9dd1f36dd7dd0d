"""`randopt`: a handler or a scorer written for RandOpt."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from verify.adapters.grader import OBJECT, ObjectGrader, Reference
from verify.kinds.kind import Grade, read
from verify.verdict import Item


class Randopt(ObjectGrader):
    """A handler's `compute_reward(response, ground_truth)`, or a function `compute_score` like it.

    Votes are what the handler's `extract_answer_for_voting`, or else its `extract_answer`, reads.
    """

    kind: ClassVar[str] = "randopt"
    protocol: ClassVar[str] = "randopt"

    object: Reference = Field(description=f"{OBJECT}: a handler, its class, or a function")
    field: str = Field(default="ground_truth", description="item field with the ground truth")

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field,)

    def grade(self, item: Item, completion: str) -> Grade:
        return self.judged(item, completion, truth=read(item, self.field))

    def extract(self, item: Item, completion: str) -> str | None:
        found: str | None = self.ask(item, completion, vote=True)["vote"]
        return found
