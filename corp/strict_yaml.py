"""YAML of plain values only, with no key twice: a second ``population:`` would silently undo the first.

Aliases may not multiply: eight lines of them can stand for a hundred million values.
"""

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


ALIASES = 10  # times the values that are written out, which aliases may stand for in all
FREE = 10_000  # values that are few enough whatever they repeat


def loads(text: str) -> Any:
    """The value in ``text``.

    Raises:
        ValueError: not YAML, a tag that is no plain value, a key twice, aliases that multiply or contain
            themselves; in one line, with the place where there is one.
    """
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_aliases(node)
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).replace('in "<unicode string>", ', "at ").split())) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (LookupError, AttributeError, TypeError):  # PyYAML's own, from tags such as !!timestamp x
        raise ValueError("a value does not fit its tag") from None
    finally:
        if loader is not None:
            loader.dispose()


def _check_aliases(root: yaml.Node) -> None:
    sizes: dict[int, int] = {}

    def measure(node: yaml.Node) -> int:
        """Values below and including ``node``, every alias written out."""
        if id(node) in sizes:
            if not sizes[id(node)]:
                raise ValueError("an alias contains itself")
            return sizes[id(node)]
        sizes[id(node)] = 0
        below: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            below = node.value
        elif isinstance(node, yaml.MappingNode):
            below = [part for pair in node.value for part in pair]
        sizes[id(node)] = 1 + sum(map(measure, below))
        return sizes[id(node)]

    if measure(root) > max(FREE, ALIASES * len(sizes)):
        raise ValueError("its aliases stand for too many values; write them out")
