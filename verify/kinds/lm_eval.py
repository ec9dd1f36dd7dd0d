"""`lm_eval`: the filters and the exact match of an lm-eval `generate_until` task."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from verify.adapters import jinja
from verify.child import Child
from verify.kinds.kind import Grade, Kind, Ungradable, graded
from verify.kinds.regex import MAX_PATTERN
from verify.verdict import Fault, Item

_SCRIPT = Path(__file__).parents[1] / "children" / "lm_eval.py"
_DEFAULT = r"#### (\-?[0-9\.\,]+)"


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, Field(max_length=MAX_PATTERN), AfterValidator(_compiles)]


class RegexFilter(BaseModel):
    """The `group_select`-th match, of it the first group that is not empty; no match is no right answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    function: Literal["regex"]
    regex_pattern: Pattern = _DEFAULT
    group_select: int = 0
    fallback: str = "[invalid]"


class PlainFilter(BaseModel):
    """Strips or changes case; `take_first` changes nothing, there is one completion."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    function: Literal["take_first", "remove_whitespace", "lowercase", "uppercase"]


Filter = RegexFilter | PlainFilter


class LmEval(Kind):
    """Passes when the filtered completion equals the target, or one of several, after what is to be ignored.

    Two things differ from lm-eval on purpose: an expression that finds nothing is a wrong answer whatever its
    `fallback` says, and a target of which nothing is left makes the row unusable instead of right for blanks.
    """

    kind: ClassVar[str] = "lm_eval"

    target: str = Field(
        default="answer", min_length=1, description="item field, or a template such as `{{answer.text}}`"
    )
    filters: list[Annotated[Filter, Field(discriminator="function")]] = Field(
        default=[], max_length=16, description="lm-eval filters, in order"
    )
    ignore_case: bool = Field(default=False, description="of exact_match")
    ignore_punctuation: bool = Field(default=False, description="of exact_match")
    ignore_numbers: bool = Field(default=False, description="of exact_match")
    regexes_to_ignore: list[Pattern] = Field(
        default=[], max_length=32, description="removed from both sides before they are compared"
    )
    timeout: float = Field(default=1.0, gt=0, le=60, description="CPU seconds per completion")
    _child: Child = PrivateAttr(default_factory=lambda: Child(_SCRIPT))

    @field_validator("target")
    @classmethod
    def _supported(cls, target: str) -> str:
        jinja.parse(template(target))
        return target

    @property
    def fields(self) -> tuple[str, ...]:
        names = jinja.names(template(self.target))
        return names if len(names) == 1 else ()  # of several, some may be alternatives

    @property
    def format_strict(self) -> bool:
        return True

    def grade(self, item: Item, completion: str) -> Grade:
        reply = self._ask(completion, self._targets(item))
        if reply["blank"]:
            raise Ungradable(Fault.ITEM_VALUE, "nothing is left of the target after what is to be ignored")
        return graded(reply["passed"], format=reply["found"] is not None)

    def extract(self, item: Item, completion: str) -> str | None:
        found: str | None = self._ask(completion, [])["found"]
        return found or None

    def oracle(self, item: Item) -> str | None:
        """The target, where it is written in the form that the filters look for."""
        target = self._targets(item)[0]
        return target if self.grade(item, target).value == 1 else None

    def close(self) -> None:
        self._child.close()

    def _ask(self, completion: str, targets: list[str]) -> dict[str, Any]:
        return self._child.ask({"text": completion, "targets": targets, **self._settings}, self.timeout)

    @cached_property
    def _settings(self) -> dict[str, Any]:
        names = {"filters", "ignore_case", "ignore_punctuation", "ignore_numbers", "regexes_to_ignore"}
        return self.model_dump(mode="json", include=names)

    def _targets(self, item: Item) -> list[str]:
        try:
            value = jinja.render(template(self.target), item)
        except jinja.Unresolved as error:
            raise Ungradable(Fault.ITEM_FIELD, f"target {self.target}: {error}") from None
        found = value if isinstance(value, list) else _listed(value)
        if not found:
            raise Ungradable(Fault.ITEM_VALUE, f"target {self.target} is an empty list")
        return list(map(str, found))


def template(target: str) -> str:
    """lm-eval takes the bare name of a field for a template that inserts it."""
    return f"{{{{{target}}}}}" if re.fullmatch(r"[A-Za-z_]\w*", target) else target


def _listed(text: str) -> list[Any]:
    """A list written as Python text, as lm-eval reads one, or the text alone."""
    if text.startswith("[") and text.endswith("]"):
        try:
            value = ast.literal_eval(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return [text]
        return value if isinstance(value, list) else [text]
    return [text]
