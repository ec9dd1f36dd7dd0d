"""What validation found wrong, in the words of someone who writes YAML or JSON, without class names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

Place = tuple[str | int, ...]
OBJECT_EXPECTED = frozenset({"model_type", "model_attributes_type", "dict_type", "mapping_type"})
MOST = 8  # problems in one line
LIST_EXPECTED = frozenset({"tuple_type", "list_type"})


def problems(
    error: ValidationError, data: Any, model: type[BaseModel] | None = None
) -> Iterator[tuple[Place, str]]:
    """Each wrong field and why; input values are left out, they may hold secrets.

    Args:
        data: what was validated, which tells its own keys from names of union members.
        model: what it was validated against; with it, a misspelt field brings the name that was meant.
    """
    rows = error.errors(include_url=False, include_input=False)
    for row in rows:
        if not (row["type"] == "too_short" and any(_inside(other["loc"], row["loc"]) for other in rows)):
            yield place(data, row["loc"]), _message(row, model)


def describe(error: ValidationError, data: Any, root: str, model: type[BaseModel] | None = None) -> str:
    """Every problem as ``field: message``, ``root`` standing for the whole of ``data``."""
    found = [
        f"{'.'.join(map(str, where)) or root}: {message}" for where, message in problems(error, data, model)
    ]
    more = [f"and {len(found) - MOST} more"] if len(found) > MOST else []
    return "; ".join(found[:MOST] + more)


def place(data: Any, parts: Sequence[str | int]) -> Place:
    """A pydantic location without the union members that were tried; as it is where the data are None."""
    if data is None:
        return tuple(parts)
    found: list[str | int] = []
    for number, part in enumerate(parts, 1):
        last = number == len(parts)
        if _has(data, part) and (last or not _is_member(data, part, parts[number])):
            data = data[part]
            found.append(part)
        elif last and isinstance(data, dict):  # a field that is missing; elsewhere only a member's name
            found.append(part)
    return tuple(found)


def _has(data: Any, part: str | int) -> bool:
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _is_member(data: Any, part: str | int, following: str | int) -> bool:
    """Whether ``part`` is a union member's name, not the key of that name: what follows is beside the key."""
    return not _has(data[part], following) and _has(data, following)


def _inside(inner: Sequence[str | int], outer: Sequence[str | int]) -> bool:
    return len(inner) > len(outer) and tuple(inner[: len(outer)]) == tuple(outer)


def _message(row: ErrorDetails, model: type[BaseModel] | None) -> str:
    kind = row["type"]
    if kind == "extra_forbidden":
        return "there is no such field" + _suggestion(row["loc"], model)
    if kind == "missing":
        return "this field is required"
    if kind in OBJECT_EXPECTED:
        return "should be an object of named fields"
    if kind in LIST_EXPECTED:
        return "should be a list, [in brackets]"
    if kind == "too_short":
        return f"should have at least {row['ctx']['min_length']} entries"
    return row["msg"].removeprefix("Value error, ").removeprefix("Input ")


def _suggestion(parts: Sequence[str | int], model: type[BaseModel] | None) -> str:
    if model is None:
        return ""
    close = get_close_matches(str(parts[-1]), _fields(model.model_json_schema(), parts[:-1]), n=1)
    return f", did you mean {close[0]}?" if close else ""


def _fields(schema: Mapping[str, Any], parts: Sequence[str | int]) -> list[str]:
    """Names of the fields that the object at ``parts`` may have; none where a union leaves that open."""
    node: Mapping[str, Any] = schema
    for part in parts:
        node = _resolved(schema, node.get("properties", {}).get(part, {}))
    return list(node.get("properties", ()))


def _resolved(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    name = node.get("$ref", "").rpartition("/")[2]
    return schema["$defs"][name] if name else node
