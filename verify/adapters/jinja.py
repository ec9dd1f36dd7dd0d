"""The part of Jinja that data-set templates use, by walking its syntax tree: nothing is compiled or run.

Fields, `a.b`, `a[0]`, constants, `x if y is defined else z`, the string methods and filters below, none of
which makes a text longer. jinja2 (BSD) parses; everything else of the language is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

_METHODS = ("strip", "lstrip", "rstrip", "lower", "upper", "split", "rsplit")
_FILTERS: Mapping[str, Callable[[str], Any]] = {
    "trim": str.strip,
    "lower": str.lower,
    "upper": str.upper,
    "string": str,
    "length": len,
}
_MOST = 10_000  # characters of a template
_DEEPEST = 40  # operations inside each other


class Unresolved(Exception):
    """The row lacks a field that the template names, or has one that it cannot work with."""


@lru_cache(maxsize=256)
def parse(template: str) -> tuple[Any, ...]:
    """Its texts and expressions, in order.

    Raises:
        ValueError: not Jinja, or a part of Jinja that is not supported, named in the message.
    """
    import jinja2
    from jinja2 import nodes

    if len(template) > _MOST:
        raise ValueError(f"the template is longer than {_MOST} characters")
    try:
        tree = jinja2.Environment(keep_trailing_newline=True).parse(template)
    except (jinja2.TemplateSyntaxError, RecursionError) as error:
        raise ValueError(f"not a Jinja template: {error}") from None
    found: list[Any] = []
    for node in tree.body:
        if not isinstance(node, nodes.Output):
            raise ValueError(f"{{% {_word(node)} %}} is not supported")
        found += [part.data if isinstance(part, nodes.TemplateData) else part for part in node.nodes]
    for part in found:
        if not isinstance(part, str):
            _check(part, _DEEPEST)
    return tuple(found)


def names(template: str) -> tuple[str, ...]:
    """The fields that it reads, each once."""
    from jinja2 import nodes

    found = (part for part in parse(template) if not isinstance(part, str))
    return tuple(dict.fromkeys(name.name for part in found for name in _all(part, nodes.Name)))


def plain_fields(template: str) -> str:
    """The template with `{name}` for a field and doubled braces elsewhere.

    Raises:
        ValueError: it does more than insert fields.
    """
    from jinja2 import nodes

    out = []
    for part in parse(template):
        if isinstance(part, str):
            out.append(part.replace("{", "{{").replace("}", "}}"))
        elif isinstance(part, nodes.Name):
            out.append(f"{{{part.name}}}")
        else:
            raise ValueError(f"a prompt inserts fields as they are, and this one computes ({_word(part)})")
    return "".join(out)


def render(template: str, item: Mapping[str, Any]) -> str | list[Any]:
    """The text; where the template is one expression with a list for its value, that list.

    Raises:
        ValueError: as `parse`.
        Unresolved: the item does not fit.
    """
    parts = parse(template)
    values = [part if isinstance(part, str) else evaluate(part, item) for part in parts]
    if len(values) == 1 and isinstance(values[0], list):
        return values[0]
    return "".join(map(str, values))


def evaluate(node: Any, item: Mapping[str, Any]) -> Any:
    from jinja2 import nodes

    if isinstance(node, nodes.Const):
        return node.value
    if isinstance(node, nodes.Name):
        return _member(item, node.name)
    if isinstance(node, nodes.Neg):
        return -evaluate(node.node, item)
    if isinstance(node, nodes.Getattr):
        return _member(evaluate(node.node, item), node.attr)
    if isinstance(node, nodes.Getitem):
        return _member(evaluate(node.node, item), evaluate(node.arg, item))
    if isinstance(node, nodes.CondExpr):
        defined = item.get(node.test.node.name) is not None  # type: ignore[attr-defined]  # checked
        return evaluate(node.expr1 if defined else node.expr2, item)
    if isinstance(node, nodes.Filter):
        return _FILTERS[node.name](_text(evaluate(node.node, item)))
    text = _text(evaluate(node.node.node, item))
    return getattr(text, node.node.attr)(*(evaluate(argument, item) for argument in node.args))


def _check(node: Any, room: int) -> None:
    """Refuses what `evaluate` does not know."""
    from jinja2 import nodes

    if room == 0:
        raise ValueError(f"more than {_DEEPEST} operations inside each other")
    if isinstance(node, nodes.Const | nodes.Name):
        return
    if isinstance(node, nodes.CondExpr):
        test = node.test
        if not (
            isinstance(test, nodes.Test) and test.name == "defined" and isinstance(test.node, nodes.Name)
        ):
            raise ValueError("a condition other than `is defined` is not supported")
        inner = [node.expr1, node.expr2]
    elif isinstance(node, nodes.Filter) and node.name in _FILTERS and not node.args and not node.kwargs:
        inner = [node.node]
    elif isinstance(node, nodes.Call):
        method = node.node
        if not (isinstance(method, nodes.Getattr) and method.attr in _METHODS) or node.kwargs:
            raise ValueError(f"the call of {_word(method)} is not supported")
        if not all(isinstance(argument, nodes.Const) for argument in node.args):
            raise ValueError(f"{method.attr} takes constants only")
        inner = [method.node]
    elif isinstance(node, nodes.Getattr | nodes.Neg):
        inner = [node.node]
    elif isinstance(node, nodes.Getitem) and not isinstance(node.arg, nodes.Slice):
        inner = [node.node, node.arg]
    else:
        raise ValueError(f"{_word(node)} is not supported")
    for one in inner:
        _check(one, room - 1)


def _member(value: Any, key: Any) -> Any:
    try:
        if isinstance(value, Mapping) or (isinstance(value, Sequence) and isinstance(key, int)):
            return _present(value[key], key)
    except (LookupError, TypeError):
        pass
    raise Unresolved(f"there is no {key!r}")


def _present(value: Any, key: Any) -> Any:
    if value is None:
        raise Unresolved(f"{key!r} is null")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unresolved(f"{type(value).__name__} is not a text")
    return value


def _all(node: Any, kind: type[Any]) -> Iterator[Any]:
    if isinstance(node, kind):
        yield node
    yield from node.find_all(kind)


def _word(node: Any) -> str:
    """What to call a node in a message."""
    label = getattr(node, "name", None) or getattr(node, "attr", None)
    kind = type(node).__name__.lower()
    return f"{kind} {label}" if isinstance(label, str) else kind
