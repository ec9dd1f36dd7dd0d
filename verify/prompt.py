"""The conversation that asks for one item."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any, TypedDict

from pydantic import BaseModel, ConfigDict, Field, field_validator

from verify.errors import DataUnusable
from verify.verdict import Item

# `{{` and `}}` are literal braces; a field is a plain identifier: no attributes, no indices, no formats
_PART = re.compile(r"\{\{|\}\}|\{(?P<field>[A-Za-z_][A-Za-z0-9_]*)\}|[{}]")


class Message(TypedDict):
    role: str
    content: str


class Shot(BaseModel):
    """One solved example, shown to the model as it stands."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user: str = Field(min_length=1)
    assistant: str = Field(min_length=1)


class PromptSpec(BaseModel):
    """An optional system message, solved examples, and the question as a template over the item's fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str | None = Field(default=None, min_length=1, description="system message, taken literally")
    shots: tuple[Shot, ...] = Field(default=(), max_length=64, description="solved examples, taken literally")
    user: str = Field(
        min_length=1, description="the question; {name} is the item's field, {{ and }} are braces"
    )

    @field_validator("user")
    @classmethod
    def _is_template(cls, template: str) -> str:
        if not template_fields(template):
            raise ValueError("the template names no {field}, so every row would ask the same")
        return template

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The item fields that the template names, each once."""
        return template_fields(self.user)

    def messages(self, item: Item, where: str = "the item") -> list[Message]:
        """The conversation for this item, ending with the user's turn.

        Args:
            where: what to call the item in an error.

        Raises:
            DataUnusable: the item lacks a field that the template names.
        """
        head: list[Message] = [] if self.system is None else [{"role": "system", "content": self.system}]
        for shot in self.shots:
            head.append({"role": "user", "content": shot.user})
            head.append({"role": "assistant", "content": shot.assistant})
        return [*head, {"role": "user", "content": render(self.user, item, where)}]


def template_fields(template: str) -> tuple[str, ...]:
    """The fields a template names, in order, each once.

    Raises:
        ValueError: a brace that is neither doubled nor around a plain name.
    """
    found: dict[str, None] = {}
    for part in _PART.finditer(template):
        if part["field"]:
            found[part["field"]] = None
        elif part[0] in "{}":
            raise ValueError(
                f"brace at position {part.start()}: write {{name}} for a field, {{{{ or }}}} for a brace"
            )
    return tuple(found)


def render(template: str, item: Item, where: str = "the item") -> str:
    """The template with the item's values: text as it is, lists and objects as JSON.

    Values are inserted once; braces inside them mean nothing.

    Raises:
        DataUnusable: a field is missing or null.
    """

    def insert(part: re.Match[str]) -> str:
        name = part["field"]
        return part[0][0] if name is None else _text(item, name, where)

    return _PART.sub(insert, template)


def _text(item: Item, name: str, where: str) -> str:
    value: Any = item.get(name)
    if value is None:
        raise DataUnusable(
            f"{where} has no field {name!r}, which the prompt names",
            hint=f"it has {', '.join(item) or 'no fields'}",
        )
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
