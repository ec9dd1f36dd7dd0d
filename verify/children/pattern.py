"""Matches regular expressions, which may take years and cannot be interrupted."""

from __future__ import annotations

import re
from typing import Any


def answer(question: dict[str, Any]) -> dict[str, Any]:
    try:
        pattern = re.compile(question["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        return {"bad": f"not a regular expression: {error}"}
    match = pattern.fullmatch if question["full"] else pattern.search
    return {"passed": match(question["text"]) is not None}
