"""`json_schema`: the completion is JSON of a given shape, and possibly a given value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, PrivateAttr, field_validator

from verify.child import Child, import_paths
from verify.kinds.kind import Grade, Kind, Ungradable, describe, graded, read
from verify.strict_json import canonical, loads, same
from verify.verdict import Fault, Item

_MAX_SCHEMA = 65_536
_SCRIPT = Path(__file__).parents[1] / "children" / "schema.py"
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(?P<body>.*)\n?```", re.DOTALL | re.IGNORECASE)


class JsonSchema(Kind):
    """Passes when the whole completion is JSON that fits the schema and, with `expected`, equals that field.

    Duplicate keys, NaN and infinities are not JSON. Checking happens in a child process that is stopped after
    `timeout` CPU seconds. References stay inside the schema; none is ever fetched.
    """

    kind: ClassVar[str] = "json_schema"

    schema_: dict[str, Any] | None = Field(
        default=None, alias="schema", description="a JSON schema, draft 2020-12 unless it names another"
    )
    field: str = Field(default="schema", description="item field with the schema, when `schema` is not given")
    expected: str | None = Field(default=None, description="item field whose value the completion must equal")
    fence: Literal["allow", "require", "refuse"] = Field(
        default="allow", description="whether the JSON may stand in a ```json fence"
    )
    timeout: float = Field(default=1.0, gt=0, le=60, description="CPU seconds per check")
    _child: Child = PrivateAttr(default_factory=lambda: Child(_SCRIPT, import_paths()))

    @field_validator("schema_")
    @classmethod
    def _usable(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema is not None:
            check_schema(schema)
        return schema

    @property
    def fields(self) -> tuple[str, ...]:
        own = (self.field,) if self.schema_ is None else ()
        return own if self.expected is None else (*own, self.expected)

    @property
    def format_strict(self) -> bool:
        return True

    def grade(self, item: Item, completion: str) -> Grade:
        schema = self._wanted(item)
        wanted = None if self.expected is None else read(item, self.expected)
        text = self._body(completion)
        try:
            value = loads(text)
        except ValueError:
            return graded(False, format=False, schema=False)
        fits = self._fits(schema, text)
        return graded(fits and (self.expected is None or same(value, wanted)), format=True, schema=fits)

    def extract(self, item: Item, completion: str) -> str | None:
        """The value in canonical JSON, whether or not it fits the schema."""
        value = loads(self._body(completion))
        schema = item.get(self.field) if self.schema_ is None else self.schema_
        return canonical(value if _tells_floats(schema) else _whole(value)).decode()

    def oracle(self, item: Item) -> str | None:
        if self.expected is None:
            return None
        body = canonical(read(item, self.expected)).decode()
        return f"```json\n{body}\n```" if self.fence == "require" else body

    def close(self) -> None:
        self._child.close()

    def _wanted(self, item: Item) -> dict[str, Any]:
        if self.schema_ is not None:
            return self.schema_
        schema = read(item, self.field)
        try:
            check_schema(schema)
        except ValueError as error:
            raise Ungradable(Fault.ITEM_VALUE, f"the item's {self.field!r}: {error}") from None
        return dict(schema)

    def _body(self, completion: str) -> str:
        match = _FENCE.fullmatch(completion.strip())
        if self.fence == "require" and match is None:
            return ""
        return match["body"] if match and self.fence != "refuse" else completion

    def _fits(self, schema: dict[str, Any], text: str) -> bool:
        question = {"schema": canonical(schema).decode(), "text": text}
        answer = self._child.ask(question, self.timeout)
        if "bad" in answer:
            raise Ungradable(Fault.ITEM_VALUE, answer["bad"])
        return bool(answer["passed"])


def _tells_floats(schema: object) -> bool:
    """Whether 1.0 is no integer to this schema: so it was up to draft 4."""
    drafts = (value for key, value in _members(schema) if key == "$schema")
    return any("draft-03" in draft or "draft-04" in draft for draft in drafts)


def _whole(value: Any) -> Any:
    """The value with 1.0 as 1, which every later draft and `same` take for one number."""
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def check_schema(schema: object) -> None:
    """Refuses what is not a usable schema.

    Raises:
        ValueError: not an object, too large, not valid in its draft, or with a reference out of itself.
    """
    if not isinstance(schema, dict):
        raise ValueError(f"a schema is an object, not {describe(schema)}")
    try:
        if len(canonical(schema)) > _MAX_SCHEMA:
            raise ValueError(f"the schema is larger than {_MAX_SCHEMA} bytes")
        _check_draft(schema)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"the schema is not JSON of a sensible depth: {error}") from None
    for key, value in _members(schema):
        if key in ("$ref", "$dynamicRef", "$recursiveRef") and not value.startswith("#"):
            raise ValueError(f"{key} {describe(value)} leaves the schema; put the definition under $defs")


def _check_draft(schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    draft = schema.get("$schema", Draft202012Validator.META_SCHEMA["$id"])
    kind: Any = (
        validator_for({"$schema": draft}, default=cast("Any", None)) if isinstance(draft, str) else None
    )
    if kind is None:
        raise ValueError(f"$schema {describe(draft)} is no known draft")
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"not a valid schema: {error.json_path}: {describe(error.message)}") from None


def _members(value: object) -> Iterator[tuple[str, str]]:
    """Every key in the schema that has a string for its value."""
    if isinstance(value, dict):
        yield from ((key, inner) for key, inner in value.items() if isinstance(inner, str))
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _members(inner)
