"""Applies lm-eval's simple filters and its exact match; the expressions may take years."""

from __future__ import annotations

import re
import string
from typing import Any


def answer(question: dict[str, Any]) -> dict[str, Any]:
    targets = {normal(target, question) for target in question["targets"]} - {""}
    found = filtered(question["text"], question["filters"])
    given = None if found is None else normal(found, question)
    return {"found": given, "passed": given in targets, "blank": not targets}


def filtered(text: str, filters: list[dict[str, Any]]) -> str | None:
    """The answer, or None where an expression finds nothing."""
    for one in filters:
        if one["function"] == "regex":
            found = searched(text, one["regex_pattern"], one["group_select"])
            if found is None:
                return None
            text = found
        elif one["function"] == "remove_whitespace":
            text = text.strip()
        elif one["function"] == "lowercase":
            text = text.lower()
        elif one["function"] == "uppercase":
            text = text.upper()
    return text


def searched(text: str, pattern: str, which: int) -> str | None:
    found = re.findall(pattern, text)
    if not -len(found) <= which < len(found):
        return None
    groups = [found[which]] if isinstance(found[which], str) else [group for group in found[which] if group]
    return groups[0].strip() if groups else None


def normal(text: str, question: dict[str, Any]) -> str:
    """As lm-eval's exact_match does before it compares."""
    for pattern in question["regexes_to_ignore"]:
        text = re.sub(pattern, "", text)
    if question["ignore_case"]:
        text = text.lower()
    if question["ignore_punctuation"]:
        text = text.translate(str.maketrans("", "", string.punctuation))
    if question["ignore_numbers"]:
        text = text.translate(str.maketrans("", "", string.digits))
    return text
