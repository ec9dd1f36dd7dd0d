from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from server.errors import FieldsInvalid, PathRelative
from server.intake import read_json, read_spec
from tests.server.service import scripted_job


def body(**changes: Any) -> bytes:
    import json

    return json.dumps({**scripted_job(Path("/model")), **changes}).encode()


def test_json_text_outside_ascii_survives() -> None:
    assert read_json('{"a": "Größe 大"}'.encode()) == {"a": "Größe 大"}


def test_a_wrong_spec_names_its_fields() -> None:
    with pytest.raises(FieldsInvalid) as caught:
        read_spec(body(gate={"alpha": 2}), "application/json; charset=utf-8")
    assert [row["pointer"] for row in caught.value.errors] == ["/gate/alpha"]


@pytest.mark.parametrize("split", ["support", "gate"])
def test_a_relative_path_is_found_in_every_split(split: str) -> None:
    sources: dict[str, Any] = {name: {"rows": []} for name in ("support", "select", "gate", "test")}
    sources[split] = {"path": "../rows.jsonl"}
    job = scripted_job(Path("/model"))
    task = {**job["task"], "data": sources}
    with pytest.raises(PathRelative) as caught:
        read_spec(body(task=task), "application/json")
    assert caught.value.pointer == f"/task/data/{split}/path"


def test_a_relative_path_is_found_in_a_guard() -> None:
    task = {**scripted_job(Path("/model"))["task"], "data": {"path": "../rows.jsonl"}}
    with pytest.raises(PathRelative) as caught:
        read_spec(body(gate={"guards": [{"task": task}]}), "application/json")
    assert caught.value.pointer == "/gate/guards/0/task/data/path"


def test_hub_ids_and_absolute_paths_pass() -> None:
    for model in ("organization/model", "model", "/models/here"):
        assert read_spec(body(model=model), "application/json").model == model


def test_fields_are_named_and_explained_as_in_the_body() -> None:
    job = scripted_job(Path("/model"))
    with pytest.raises(FieldsInvalid) as caught:
        read_spec(
            body(populaton={}, task={**job["task"], "data": {"path": "/a", "x/y": 1}}), "application/json"
        )
    assert caught.value.errors == [
        {"pointer": "/task/data/x~1y", "detail": "there is no such field"},
        {"pointer": "/populaton", "detail": "there is no such field, did you mean population?"},
    ]
    with pytest.raises(FieldsInvalid) as caught:
        read_spec(body(population={"sigmas": [0]}), "application/json")
    assert caught.value.errors == [{"pointer": "/population/sigmas/0", "detail": "should be greater than 0"}]
