"""The OpenAPI document: FastAPI's, with the job spec as the request body and problems as the errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from corp.spec import JobSpec
from server.problems import MEDIA_TYPE
from server.schemas import Problem

REFERENCE = "#/components/schemas/{model}"

EXAMPLE: dict[str, Any] = {
    "name": "larger",
    "model": "/models/SmolLM2-135M-Instruct",
    "task": {
        "name": "larger",
        "data": {"generator": "larger", "seed": 0},
        "prompt": {"user": "Which is larger, {a} or {b}?"},
        "verifier": {"kind": "exact"},
        "splits": {"support": 96, "select": 96, "gate": 256, "test": 256},
        "max_new_tokens": 5,
    },
    "population": {"size": 48},
}


def refusals(**meanings: str) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route, for its ``responses``: ``refusals(s404="no such job")``.

    Every route may also answer 421 (wrong host) and 500; those stand here once.
    """
    meanings = {**meanings, "s421": "the Host header names another server", "s500": "a fault in the server"}
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}}
    return {int(key[1:]): {"description": text, "content": content} for key, text in sorted(meanings.items())}


def document(app: FastAPI) -> dict[str, Any]:
    """The document, built once."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        components = schema["components"]["schemas"]
        _drop_fastapi_errors(schema)
        for model in (JobSpec, Problem):
            found = model.model_json_schema(ref_template=REFERENCE)
            components.update(found.pop("$defs", {}))
            components[model.__name__] = found
        app.openapi_schema = schema
    return app.openapi_schema


def _drop_fastapi_errors(schema: dict[str, Any]) -> None:
    """FastAPI promises errors of its own shape wherever there is a parameter; ours are the problems."""
    for methods in schema["paths"].values():
        for operation in methods.values():
            answer = operation["responses"].get("422", {})
            if "application/json" in answer.get("content", {}):
                answer["content"].pop("application/json")
                if not answer["content"]:
                    del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(name, None)


def _body(model: str, example: dict[str, Any]) -> dict[str, Any]:
    content = {"schema": {"$ref": REFERENCE.format(model=model)}, "example": example}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


SPEC_BODY = _body("JobSpec", EXAMPLE)
TASK_BODY = _body("TaskSpec", EXAMPLE["task"])
