"""The page, read without a browser."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "br", "link", "img", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Every element of a page with the text inside it, in the order in which they open."""

    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        return [e for e in self.elements if e.tag == tag and wanted.items() <= e.attributes.items()]


def read(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    return page


def at(report: Any, path: str) -> Any:
    """What a dotted path of the report holds."""
    for part in path.split("."):
        report = report[int(part)] if isinstance(report, list) else report[part]
    return report


def numbers(page: Page) -> dict[str, tuple[float, str]]:
    """Value and text of every number that names its place in the report."""
    return {
        element.attributes["data-path"]: (json.loads(element.attributes["value"]), element.text)
        for element in page.all("data")
    }
