"""From a request body to a job spec, strictly: JSON as RFC 8259 has it, then the spec, then the paths."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from pydantic import ValidationError

from corp.spec import JobSpec
from server.datafiles import is_absolute, job_files
from server.errors import BodyUnusable, FieldsInvalid, PathRelative
from server.graders import check_job
from server.problems import pointer
from verify.strict_json import loads
from verify.wording import problems


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
    if media_type.partition(";")[0].strip().lower() != "application/json":
        # A web page may send text/plain to another site without asking; JSON it may not.
        raise BodyUnusable("the body must be sent as Content-Type: application/json", status=415)
    data = read_json(body)
    try:
        spec = JobSpec.model_validate(data)
    except ValidationError as error:
        found = problems(error, data, JobSpec)
        raise FieldsInvalid([{"pointer": pointer(at), "detail": detail} for at, detail in found]) from None
    _check_paths(spec)
    check_job(spec, graders)
    return spec


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
        _require_absolute(path, place, "send the rows inline as data.rows, as `corp jobs create` does")
    if spec.model.startswith((".", "~")) or spec.model.count("/") > 1 or "\0" in spec.model:
        _require_absolute(spec.model, "/model", "a hub id has the form organization/name")


def _require_absolute(path: str, place: str, otherwise: str) -> None:
    if not is_absolute(path):
        raise PathRelative(
            "a path in a job sent to a server must be absolute, and is read on the server's machine",
            pointer=place,
            hint=otherwise,
        )
