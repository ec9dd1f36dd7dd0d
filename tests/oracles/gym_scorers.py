"""A grader that gives what reasoning-gym's own scorer gives, for tasks that the list leaves out as well."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache
def _dataset(task: str) -> Any:
    import reasoning_gym

    return reasoning_gym.create_dataset(task, size=1, seed=0)


def score(item: dict[str, Any], completion: str) -> float:
    entry = {"question": item["question"], "answer": item["answer"], "metadata": item["metadata"]}
    return float(_dataset(item["task"]).score_answer(completion, entry))
