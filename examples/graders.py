"""Graders as other programs want them, for the pages in docs/verifiers/ that show how they are used here."""

from __future__ import annotations

import re
from typing import Any


def has_unit(item: dict[str, Any], completion: str, unit: str = "km") -> dict[str, Any]:
    """For `function`: half the value for the number, half for the unit; a success is both."""
    number = str(item["answer"]) in re.findall(r"\d+", completion)
    named = completion.strip().endswith(unit)
    return {"value": (number + named) / 2, "success": number and named, "number": number, "unit": named}


def accuracy(completions: list[str], answer: list[str], **columns: Any) -> list[float | None]:
    """For `trl`."""
    return [float(text.strip() == gold) for text, gold in zip(completions, answer, strict=True)]


def brevity(completions: list[str], **columns: Any) -> list[float | None]:
    """For `trl`: 1 for short texts, and no opinion on empty ones."""
    return [float(len(text) <= 10) if text else None for text in completions]


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None
) -> dict[str, Any]:
    """For `verl`."""
    right = solution_str.rpartition("####")[2].strip() == ground_truth
    return {"score": 1.0 if right else 0.0, "acc": right}


class Sums:
    """For `randopt`: a handler, of which only what scores and votes is used."""

    def compute_reward(self, response: str, ground_truth: str) -> float:
        return float(self.extract_answer(response) == ground_truth)

    def extract_answer(self, response: str) -> str | None:
        found = re.findall(r"<answer>\s*(-?\d+)\s*</answer>", response)
        return found[-1] if found else None


async def exact(completion: list[dict[str, str]], answer: str) -> float:
    """For `verifiers`: a rubric function."""
    return float(completion[-1]["content"] == answer)
