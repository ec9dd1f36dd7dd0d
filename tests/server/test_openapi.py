from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corp.spec import JobSpec, parse
from server.app import create_app
from server.clock import Clock
from server.database import Database
from server.layout import Layout
from server.openapi import EXAMPLE
from server.settings import Settings


@pytest.fixture
def document(layout: Layout, database: Database) -> dict[str, Any]:
    found: dict[str, Any] = create_app(Settings(layout, database, Clock())).openapi()
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    if isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_it_has_exactly_the_routes_of_the_first_release(document: dict[str, Any]) -> None:
    assert {(method, path) for path, method, _ in operations(document)} == {
        ("post", "/v1/jobs"),
        ("get", "/v1/jobs"),
        ("get", "/v1/jobs/{job_id}"),
        ("post", "/v1/jobs/{job_id}:cancel"),
        ("post", "/v1/jobs/{job_id}:resume"),
        ("get", "/v1/jobs/{job_id}/events"),
        ("get", "/v1/jobs/{job_id}/events:stream"),
        ("get", "/v1/checkpoints/{checkpoint_id}"),
        ("post", "/v1/tasks:validate"),
        ("get", "/v1/checkpoints/{checkpoint_id}/files/{name}"),
        ("get", "/healthz"),
        ("get", "/readyz"),
    }


def test_every_operation_has_an_id_a_summary_a_tag_and_problem_answers(document: dict[str, Any]) -> None:
    ids = []
    for _, _, operation in operations(document):
        ids.append(operation["operationId"])
        assert operation["summary"]
        assert operation["tags"]
        for status, answer in operation["responses"].items():
            if status >= "400" and status != "503":
                schema = answer["content"]["application/problem+json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Problem"}
    assert len(ids) == len(set(ids))


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    for reference in set(references(document)):
        target: Any = document
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
        assert isinstance(target, dict)


def test_the_job_body_is_the_spec_with_an_example_that_is_one(document: dict[str, Any]) -> None:
    create = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
    components = document["components"]
    schema = {**create["schema"], "components": components}
    Draft202012Validator(schema).validate(create["example"])
    assert not Draft202012Validator(schema).is_valid({**create["example"], "unknown": 1})
    assert isinstance(parse(EXAMPLE, "the example"), JobSpec)
    assert set(components["schemas"]["JobSpec"]["properties"]) == set(JobSpec.model_fields)
