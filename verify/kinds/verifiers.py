"""`verifiers`: tasks and rubrics written for the `verifiers` library."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from verify.adapters.grader import ObjectGrader
from verify.kinds.kind import Grade
from verify.verdict import Item


class Verifiers(ObjectGrader):
    """A `Task` class with `@vf.reward` methods, a rubric function, or a rubric.

    A task class gets the item as its data and a trace whose last reply is the completion; one whose rewards
    need a container judges nothing. A rubric function gets those of `prompt`, `completion`, `answer`, `info`,
    `task`, `state` and `parser` that it names.
    """

    kind: ClassVar[str] = "verifiers"
    protocol: ClassVar[str] = "verifiers"

    conversational: bool = Field(
        default=True, description="rubric functions get a list of messages instead of a text"
    )

    def grade(self, item: Item, completion: str) -> Grade:
        return self.judged(item, completion, conversational=self.conversational)
