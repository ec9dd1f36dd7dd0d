"""`exact`: the completion is the item's answer, character for character."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from verify.kinds.kind import Grade, Kind, graded, read_text
from verify.verdict import Item


class Exact(Kind):
    kind: ClassVar[str] = "exact"

    field: str = Field(default="answer", description="item field to compare with")
    strip: bool = Field(default=True, description="ignore white space around both")
    ignore_case: bool = Field(default=False, description="compare case-folded")

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field,)

    @property
    def format_strict(self) -> bool:
        return True

    def grade(self, item: Item, completion: str) -> Grade:
        return graded(self._plain(completion) == self._plain(read_text(item, self.field)))

    def oracle(self, item: Item) -> str | None:
        return read_text(item, self.field)

    def extract(self, item: Item, completion: str) -> str | None:
        return super().extract(item, self._plain(completion))

    def _plain(self, text: str) -> str:
        text = text.strip() if self.strip else text
        return text.casefold() if self.ignore_case else text
