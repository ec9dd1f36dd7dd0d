"""A verifier kind whose judgement is made by somebody's own Python code, in a helper process of its own."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, JsonValue

from verify.child import Child
from verify.kinds.kind import Grade, Kind, Ungradable
from verify.verdict import Fault, Item

_SCRIPT = Path(__file__).parents[1] / "children" / "grader.py"
REFERENCE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"
Reference = Annotated[str, Field(pattern=REFERENCE, max_length=500)]

OBJECT = "`module:object`, imported in the helper process"


class Grader(Kind):
    """Asks a grader in a process that is stopped when a question takes too long and replaced when it dies.

    The process is an interpreter like this one, with its packages, environment and rights: a grader is its
    owner's code, not a stranger's. It sees nothing of this process and cannot end it; what it prints is gone.
    """

    protocol: ClassVar[str]

    path: str | None = Field(
        default=None, min_length=1, description="folder to import from, besides the installed packages"
    )
    arguments: dict[str, JsonValue] = Field(default={}, description="keyword arguments of every call")
    timeout: float = Field(default=5.0, gt=0, le=600, description="CPU seconds per call")
    oracle_field: str | None = Field(
        default=None, description="item field with a completion that passes, where there is one"
    )

    @property
    @abstractmethod
    def references(self) -> tuple[str, ...]:
        """What the helper loads."""

    def oracle(self, item: Item) -> str | None:
        answer = None if self.oracle_field is None else item.get(self.oracle_field)
        return None if answer is None else str(answer)

    def close(self) -> None:
        self.child.close()

    @cached_property
    def child(self) -> Child:
        paths = [] if self.path is None else [os.path.abspath(os.path.expanduser(self.path))]
        return Child(_SCRIPT, [self.protocol, json.dumps(self.references), *paths], isolated=False)

    def ask(self, item: Item, completion: str, **more: Any) -> dict[str, Any]:
        """The helper's reply."""
        question = {"item": dict(item), "completion": completion, "arguments": self.arguments, **more}
        return self.child.ask(question, self.timeout)

    def judged(self, item: Item, completion: str, **more: Any) -> Grade:
        """The grade that the helper gives.

        Raises:
            Ungradable: `timeout`, `process` and `exception` as the helper fails; `result` where it gives
                no score, `not_applicable` where it gives None for one.
        """
        return read_grade(self.ask(item, completion, **more))


class ObjectGrader(Grader):
    """One that is a single object."""

    object: Reference = Field(description=OBJECT)

    @property
    def references(self) -> tuple[str, ...]:
        return (self.object,)


def read_grade(reply: dict[str, Any]) -> Grade:
    if "bad" in reply:
        raise Ungradable(Fault.RESULT, reply["bad"])
    if reply["value"] is None:
        raise Ungradable(Fault.NOT_APPLICABLE, "the grader gave None: it does not apply to this row")
    return Grade(reply["value"], reply["components"], reply["success"])
