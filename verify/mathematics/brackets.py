"""Text in normal spelling cut where no bracket is open. Brackets may differ in kind: (3, 4] is one pair."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"\\[A-Za-z]+ ?|\\.|.", re.DOTALL)
_OPENING, _CLOSING = frozenset(("(", "[", "{", r"\{")), frozenset((")", "]", "}", r"\}"))


def tokens_of(text: str) -> list[str]:
    """Commands, each with the space behind it, and single characters."""
    return _TOKEN.findall(text)


def inside(text: str) -> str | None:
    """What stands between brackets that enclose all of the text."""
    tokens = tokens_of(text)
    if len(tokens) < 2 or (tokens[0] == r"\{", tokens[-1] == r"\}") not in ((True, True), (False, False)):
        return None
    open_behind = list(levels(tokens))
    whole = tokens[0] in _OPENING and tokens[0] != "{" and open_behind[-1] == 0 and min(open_behind[:-1]) > 0
    return "".join(tokens[1:-1]) if whole else None


def split(text: str, separator: str) -> list[str]:
    """The text cut at every separator that stands in no bracket; parts that are empty are left out."""
    tokens, parts = tokens_of(text), [""]
    for token, level in zip(tokens, levels(tokens), strict=True):
        if level == 0 and token.strip() == separator:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts if part.strip()]


def levels(tokens: list[str]) -> Iterator[int]:
    """How many brackets are open behind each token."""
    level = 0
    for token in tokens:
        level += (token in _OPENING) - (token in _CLOSING)
        yield level
