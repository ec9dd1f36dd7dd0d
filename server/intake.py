"""From a request body to a job spec, strictly: JSON as RFC 8259 has it, then the spec, then the paths."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from corp.spec import JobSpec
from server.datafiles import data_files, is_absolute, job_files
from server.errors import BodyUnusable, FieldsInvalid, PathRelative
from server.graders import check_job, check_task
from server.problems import pointer
from verify.strict_json import loads
from verify.task import TaskSpec
from verify.wording import problems

T = TypeVar("T", bound=BaseModel)

_INLINE = "send the rows inline as data.rows, as `corp jobs create` does"


def read_spec(body: bytes, media_type: str, graders: Collection[str] = ()) -> JobSpec:
    """The spec in a request body.

    Args:
        graders: modules whose graders it may name.

    Raises:
        BodyUnusable: not JSON, or not announced as JSON.
        FieldsInvalid: with every wrong field.
        PathRelative: a path that would depend on the server's working directory.
        GraderRefused: it names other Python code.
    """
    spec = _read(JobSpec, body, media_type)
    _check_paths(spec)
    check_job(spec, graders)
    return spec


def read_task(body: bytes, media_type: str, graders: Collection[str] = ()) -> TaskSpec:
    """The task in a request body.

    Raises:
        BodyUnusable, FieldsInvalid, PathRelative, GraderRefused: as `read_spec`.
    """
    task = _read(TaskSpec, body, media_type)
    for place, path in data_files(task, ""):
        _require_absolute(path, place, _INLINE)
    check_task(task, "", graders)
    return task


def _read(model: type[T], body: bytes, media_type: str) -> T:
    if media_type.partition(";")[0].strip().lower() != "application/json":
        # A web page may send text/plain to another site without asking; JSON it may not.
        raise BodyUnusable("the body must be sent as Content-Type: application/json", status=415)
    data = read_json(body)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = problems(error, data, model)
        raise FieldsInvalid([{"pointer": pointer(at), "detail": detail} for at, detail in found]) from None


def read_json(body: bytes) -> Any:
    """JSON as RFC 8259 has it: no NaN, no key twice, no lone surrogates, bounded nesting.

    Raises:
        BodyUnusable: with the place where it stops being JSON.
    """
    try:
        data = loads(body.decode("utf-8"))
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise BodyUnusable(f"the body is not JSON: {error.msg} at {place}") from None
    except UnicodeError:
        raise BodyUnusable("the body is not Unicode text in UTF-8") from None
    except ValueError as error:
        raise BodyUnusable(f"the body is not JSON: {error}") from None
    return data


def _check_paths(spec: JobSpec) -> None:
    for place, path in job_files(spec):
        _require_absolute(path, place, _INLINE)
    if spec.model.startswith((".", "~")) or spec.model.count("/") > 1 or "\0" in spec.model:
        _require_absolute(spec.model, "/model", "a hub id has the form organization/name")


def _require_absolute(path: str, place: str, otherwise: str) -> None:
    if not is_absolute(path):
        raise PathRelative(
            "a path in a job sent to a server must be absolute, and is read on the server's machine",
            pointer=place,
            hint=otherwise,
        )
