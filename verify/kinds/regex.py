"""`regex`: a Python regular expression, matched where it can be killed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, PrivateAttr, field_validator

from verify.child import Child
from verify.kinds.kind import Grade, Kind, Ungradable, describe, graded, read
from verify.verdict import Fault, Item

# Compiling happens in this process and cannot be killed. The slowest known pattern, a hundred full-range
# classes of five characters under (?i), takes 3.8 s of it; this length bounds such a pattern to twice that.
MAX_PATTERN = 1_000
_SCRIPT = Path(__file__).parents[1] / "children" / "pattern.py"


class Regex(Kind):
    """Passes when the pattern is found (`search`) or is the whole completion (`full`).

    Matching happens in a child process that is stopped after `timeout` CPU seconds; the verdict is then not
    valid, with error `timeout`. Inline flags such as `(?i)` work.
    """

    kind: ClassVar[str] = "regex"

    pattern: str | None = Field(
        default=None, max_length=MAX_PATTERN, description="the expression; default: each item's own"
    )
    field: str = Field(
        default="pattern", description="item field with the expression, when `pattern` is not given"
    )
    mode: Literal["search", "full"] = Field(default="search", description="find it anywhere, or match all")
    strip: bool = Field(default=True, description="ignore white space around the completion")
    timeout: float = Field(default=1.0, gt=0, le=60, description="CPU seconds per match")
    _child: Child = PrivateAttr(default_factory=lambda: Child(_SCRIPT))

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return pattern

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field,) if self.pattern is None else ()

    @property
    def format_strict(self) -> bool:
        return True

    def grade(self, item: Item, completion: str) -> Grade:
        question = {
            "pattern": self._wanted(item),
            "text": self._plain(completion),
            "full": self.mode == "full",
        }
        answer = self._child.ask(question, self.timeout)
        if "bad" in answer:
            raise Ungradable(Fault.ITEM_VALUE, answer["bad"])
        return graded(answer["passed"])

    def extract(self, item: Item, completion: str) -> str | None:
        return super().extract(item, self._plain(completion))

    def close(self) -> None:
        self._child.close()

    def _plain(self, completion: str) -> str:
        return completion.strip() if self.strip else completion

    def _wanted(self, item: Item) -> str:
        pattern = self.pattern if self.pattern is not None else read(item, self.field)
        if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN:
            raise Ungradable(
                Fault.ITEM_VALUE, f"the item's {self.field!r} is no pattern: {describe(pattern)}"
            )
        return pattern
