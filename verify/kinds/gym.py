"""`gym`: rows of reasoning-gym, scored by their own task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.util import find_spec
from typing import ClassVar, Self

from pydantic import Field, model_validator

from verify.adapters.gym import LISTED, start, stated
from verify.child import Child
from verify.errors import ExtraMissing
from verify.kinds.kind import Grade, Kind, Ungradable, describe, graded, read
from verify.verdict import Fault, Item

_ENTRY = ("question", "answer", "metadata")


class Gym(Kind):
    """Passes when the task's scorer gives the extracted answer full marks; partial credit counts for nothing.

    It is paid for echoing the question, for constants and for closeness, so it says little about being right.

    Raises:
        ExtraMissing: at construction, when reasoning-gym is not installed.
    """

    kind: ClassVar[str] = "gym"

    timeout: float = Field(default=1.0, gt=0, le=60, description="CPU seconds per score")

    @model_validator(mode="after")
    def _installed(self) -> Self:
        if find_spec("reasoning_gym") is None:
            raise ExtraMissing("verifier gym", "gym")
        return self

    @property
    def fields(self) -> tuple[str, ...]:
        return ("task", "answer")  # the question is the prompt's, the metadata tell the item's number

    def grade(self, item: Item, completion: str) -> Grade:
        task, entry = read(item, "task"), {name: read(item, name) for name in _ENTRY}
        if task not in LISTED or not isinstance(entry["metadata"], Mapping):
            raise Ungradable(Fault.ITEM_VALUE, f"{describe(task)} is not a row of a listed gym task")
        answer = stated(completion)
        question = {"task": task, "config": LISTED[task].config, "seed": 0, "entry": entry, "answer": answer}
        return graded(self._child.ask(question, self.timeout)["score"] == 1.0, stated=bool(answer))

    def extract(self, item: Item, completion: str) -> str | None:
        return stated(completion) or None

    def close(self) -> None:
        self._child.close()

    @cached_property
    def _child(self) -> Child:
        return start()
