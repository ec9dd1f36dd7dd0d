"""From a request body to a job spec, strictly: JSON as RFC 8259 has it, then the spec, then the paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from corp.spec import JobSpec
from server.errors import BodyUnusable, FieldsInvalid, PathRelative
from server.problems import fields


def read_spec(body: bytes, media_type: str) -> JobSpec:
    """The spec in a request body.

    Raises:
        BodyUnusable: not JSON, or not announced as JSON.
        FieldsInvalid: with every wrong field.
        PathRelative: a path that would depend on the server's working directory.
    """
    if media_type.partition(";")[0].strip().lower() != "application/json":
        # A web page may send text/plain to another site without asking; JSON it may not.
        raise BodyUnusable("the body must be sent as Content-Type: application/json", status=415)
    data = read_json(body)
    try:
        spec = JobSpec.model_validate(data)
    except ValidationError as error:
        raise FieldsInvalid(fields(error.errors(include_url=False, include_input=False))) from None
    _check_paths(spec)
    return spec


def read_json(body: bytes) -> Any:
    """JSON without NaN, lone surrogates or bottomless nesting, all of which Python's reader lets through.

    Raises:
        BodyUnusable: with the place where it stops being JSON.
    """
    try:
        data = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise BodyUnusable(
            f"the body is not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        ) from None
    except UnicodeError:
        raise BodyUnusable("the body is not Unicode text in UTF-8") from None
    except RecursionError:
        raise BodyUnusable("the body is nested too deeply") from None
    except ValueError as error:
        raise BodyUnusable(f"the body is not JSON: {error}") from None
    return data


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _check_paths(spec: JobSpec) -> None:
    data = getattr(spec.task.data, "path", None)
    if data is not None:
        _require_absolute(str(data), "/task/data/path", "send the rows inline as task.data.rows")
    if spec.model.startswith((".", "~")) or spec.model.count("/") > 1 or "\0" in spec.model:
        _require_absolute(spec.model, "/model", "a hub id has the form organisation/name")


def _require_absolute(path: str, pointer: str, otherwise: str) -> None:
    if "\0" in path or not Path(path).is_absolute():
        raise PathRelative(
            "a path in a job sent to a server must be absolute, and is read on the server's machine",
            pointer=pointer,
            hint=otherwise,
        )
