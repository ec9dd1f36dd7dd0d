"""YAML of plain values only, with no key twice: a second ``population:`` would silently undo the first."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a repeated key; what ``<<`` brings in may be overridden, as YAML means it."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                name = (key.tag, key.value)
                if name in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key {key.value} stands twice", problem_mark=key.start_mark
                    )
                seen.add(name)
        return super().construct_mapping(node, deep)


def loads(text: str) -> Any:
    """The value in ``text``.

    Raises:
        ValueError: not YAML, a tag that is no plain value, or a key twice; in one line, with the place.
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).replace('in "<unicode string>", ', "at ").split())) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
