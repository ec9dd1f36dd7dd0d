"""`verl`: a reward function written for verl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from verify.adapters.grader import ObjectGrader
from verify.kinds.kind import Grade, read
from verify.verdict import Item


class Verl(ObjectGrader):
    """`compute_score(data_source, solution_str, ground_truth, extra_info) -> float | dict`.

    Rows of verl's data sets work as they are: the ground truth is the item's `reward_model.ground_truth`. In
    a dict, `score` is the value and a boolean `acc` the success.
    """

    kind: ClassVar[str] = "verl"
    protocol: ClassVar[str] = "verl"

    field: str = Field(
        default="reward_model",
        description="item field with the ground truth, or with an object that has it under `ground_truth`",
    )
    data_source: str | None = Field(default=None, description="default: the item's `data_source`")

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field,)

    def grade(self, item: Item, completion: str) -> Grade:
        return self.judged(
            item,
            completion,
            truth=self._truth(item),
            data_source=item.get("data_source") if self.data_source is None else self.data_source,
            extra_info=item.get("extra_info", {}),
        )

    def _truth(self, item: Item) -> Any:
        value = read(item, self.field)
        return read(value, "ground_truth") if isinstance(value, Mapping) else value
