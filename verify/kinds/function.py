"""`function`: a Python function of your own."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from pydantic import Field, model_validator

from verify.adapters.grader import OBJECT, Grader, Reference, read_grade
from verify.adapters.source import Source
from verify.kinds.kind import Grade
from verify.verdict import Item


class Function(Grader):
    """`f(item, completion, **arguments)` gives a number, a boolean, or an object with its parts.

    Named by `object` or `entry_point`, it runs in a helper process with this environment's packages. Given as
    `source`, it runs in the sandbox: the standard library, no files, no network.
    """

    kind: ClassVar[str] = "function"
    protocol: ClassVar[str] = "function"

    object: Reference | None = Field(default=None, description=OBJECT)
    entry_point: str | None = Field(
        default=None, min_length=1, description="name in the entry point group `corp.verifiers`"
    )
    source: str | None = Field(
        default=None, min_length=1, max_length=100_000, description="Python text that defines `grade`"
    )
    oracle_field: str | None = Field(
        default="answer", description="item field with a completion that passes, where there is one"
    )

    @model_validator(mode="after")
    def _one_of_three(self) -> Function:
        if sum(given is not None for given in (self.object, self.entry_point, self.source)) != 1:
            raise ValueError("give one of object (module:object), entry_point and source")
        if self.source is not None:
            if self.path is not None:
                raise ValueError("path is for object: the sandbox has no files to import")
            Source.check(self.source)
        return self

    @property
    def references(self) -> tuple[str, ...]:
        return (f"@{self.entry_point}" if self.object is None else self.object,)

    @property
    def probe_rows(self) -> int:
        return super().probe_rows if self.source is None else 24  # milliseconds of sandbox each

    def grade(self, item: Item, completion: str) -> Grade:
        if self.source is None:
            return self.judged(item, completion)
        return read_grade(self._sandboxed.ask(item, completion))

    def close(self) -> None:
        if self.source is None:
            super().close()

    @cached_property
    def _sandboxed(self) -> Source:
        assert self.source is not None
        return Source(self.source, self.arguments, self.timeout)
