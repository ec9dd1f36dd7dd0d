from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from verify.task import TaskSpec
from verify.wording import describe, place

TASK: dict[str, Any] = {
    "name": "sums",
    "data": {"rows": [{"q": "1", "answer": "1"}]},
    "prompt": {"user": "{q}"},
    "verifier": {"kind": "exact"},
    "splits": {"support": 1, "select": 1, "gate": 1, "test": 1},
}


def complaint(data: object) -> str:
    with pytest.raises(ValidationError) as caught:
        TaskSpec.model_validate(data)
    return describe(caught.value, data, "task", TaskSpec)


def test_union_members_are_no_part_of_a_place() -> None:
    data = {"task": {"data": {"rows": [1, {"a/b": 2}]}}}
    assert place(data, ("task", "data", "rows", "rows", 0)) == ("task", "data", "rows", 0)
    assert place(data, ("task", "data", "rows", "rows", 1, "a/b")) == ("task", "data", "rows", 1, "a/b")
    assert place(data, ("task", "data", "splits", "gate")) == ("task", "data", "gate")
    assert place(data, ("task", "prompt")) == ("task", "prompt")
    assert place(data, ()) == ()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"promt": {}}, "promt: there is no such field, did you mean prompt?"),
        ({"qqq": 1}, "qqq: there is no such field"),
        (
            {"splits": {**TASK["splits"], "gates": 1}},
            "splits.gates: there is no such field, did you mean gate?",
        ),
        ({"verifier": "exact"}, "verifier: should be an object of named fields"),
        ({"prompt": "{q}"}, "prompt: should be an object of named fields"),
        ({"stop": "x"}, "stop: should be a list"),
        ({"max_new_tokens": 0}, "max_new_tokens: should be greater than or equal to 1"),
        ({"data": {"path": "a.jsonl", "pth": 1}}, "data.pth: there is no such field"),
        ({"data": {"rows": [], "x": 1}}, "data.x: there is no such field"),
        ({"splits": {"support": 1}}, "splits.select: this field is required; "),
    ],
)
def test_problems_are_said_in_the_words_of_the_file(change: dict[str, Any], expected: str) -> None:
    assert complaint({**TASK, **change}).startswith(expected)


def test_a_line_has_an_end() -> None:
    assert complaint({**TASK, **{f"x{n}": n for n in range(12)}}).endswith("; and 4 more")


def test_the_whole_is_called_by_its_name() -> None:
    assert complaint("text") == "task: should be an object of named fields"
    assert complaint(None) == "task: should be an object of named fields"
