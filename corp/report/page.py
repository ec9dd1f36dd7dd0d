"""report.html: one file, no script, no network; it formats report.json and computes nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from corp.report.charts import figures
from corp.report.plot import pattern_defs
from corp.report.wording import NOTHING, STYLES

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = "corp.report"


def page(report: Mapping[str, Any], pairs: Sequence[Mapping[str, Any]]) -> str:
    """The page.

    Whatever a model or a task file wrote is escaped by the template engine, and the page's policy allows
    nothing but its own style sheet, named by its digest: no script can run in it.

    Args:
        report: report.json.
        pairs: the completions of samples.json.
    """
    style = _file("style.css")
    environment = _environment()
    environment.globals["number"] = partial(number, report)
    drawings = {name: drawing.svg() if drawing else None for name, drawing in figures(dict(report)).items()}
    return environment.get_template("report.html").render(
        report=report,
        pairs=pairs,
        figures=drawings,
        patterns=pattern_defs(),
        style=Markup(style),  # ours, from a file beside this one
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        settings=json.dumps(report["settings"], indent=2, ensure_ascii=False),
    )


def number(report: Mapping[str, Any], path: str, style: str) -> Markup:
    """The number at a dotted path of the report, written in a style of `corp.report.wording`.

    The element carries the path and the number with all its digits, so that the page can be held against
    report.json. A dash stands for what is not there.
    """
    value = look_up(report, path)
    if value is None:
        return Markup(NOTHING)
    return Markup('<data value="{}" data-path="{}">{}</data>').format(
        json.dumps(value), path, STYLES[style](value)
    )


def look_up(report: Mapping[str, Any], path: str) -> Any:
    """The value at ``gate.proposals.0.gain``; None where a part of the path is missing."""
    value: Any = report
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)]
        elif isinstance(value, Mapping):
            value = value.get(part)
        else:
            return None
    return value


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _file(name: str) -> str:
    return (files(TEMPLATES) / "templates" / name).read_text(encoding="utf-8")
