"""Python code that a job over HTTP may name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from server.errors import GraderRefused
from server.intake import read_spec
from server.problems import STATUS
from tests.server.service import scripted_job


def read(verifier: dict[str, Any], *graders: str, guard: bool = False) -> None:
    job = scripted_job(Path("/model"))
    task = {**job["task"], "verifier": verifier}
    changed = {"gate": {"guards": [{"task": task}]}} if guard else {"task": task}
    read_spec(json.dumps({**job, **changed}).encode(), "application/json", graders)


NAMED: tuple[dict[str, Any], ...] = (
    {"kind": "function", "object": "subprocess:getoutput"},
    {"kind": "trl", "functions": ["rewards.math:f", "subprocess:getoutput"]},
    {"kind": "verl", "object": "subprocess:getoutput"},
    {"kind": "randopt", "object": "subprocess:getoutput"},
    {"kind": "verifiers", "object": "subprocess:getoutput"},
    {"kind": "mixed", "verifier": {"kind": "function", "object": "subprocess:getoutput"}},
    {"kind": "function", "object": "rewardsx:f"},
)


@pytest.mark.parametrize("verifier", NAMED)
@pytest.mark.parametrize("guard", [False, True])
def test_a_module_that_the_server_was_not_told_of_is_refused(verifier: dict[str, Any], guard: bool) -> None:
    with pytest.raises(GraderRefused) as caught:
        read(verifier, "rewards", guard=guard)
    assert caught.value.pointer.startswith("/gate/guards/0/task/verifier" if guard else "/task/verifier")
    assert STATUS[caught.value.code] == 403


@pytest.mark.parametrize("reference", ["rewards:f", "rewards.math:f", "rewards.math.deep:C.f"])
def test_an_allowed_package_covers_what_lies_in_it(reference: str) -> None:
    read({"kind": "function", "object": reference}, "other", "rewards")
    with pytest.raises(GraderRefused):
        read({"kind": "function", "object": reference})


def test_a_folder_to_import_from_is_always_refused() -> None:
    with pytest.raises(GraderRefused, match="folder") as caught:
        read({"kind": "function", "object": "rewards:f", "path": "/tmp"}, "rewards")
    assert caught.value.pointer == "/task/verifier/path"


def test_entry_points_source_and_other_kinds_need_no_leave() -> None:
    read({"kind": "function", "entry_point": "mine"})
    read({"kind": "function", "source": "def grade(item, completion): return 1"})
    read({"kind": "exact"})
