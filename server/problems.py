"""Every error as RFC 9457 problem details, without what the client sent."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from server.errors import BodyUnusable, FieldsInvalid, GraderRefused, PathRelative, TransitionRefused
from verify.errors import CorpError

log = logging.getLogger("corp.api")

MEDIA_TYPE = "application/problem+json"
TYPE_BASE = "urn:corp:problem:"  # a name; docs/api.md lists the codes

STATUS: Mapping[str, int] = {
    "job_unknown": 404,
    "checkpoint_unknown": 404,
    "grader_refused": 403,
    "transition_refused": 409,
    "split_overlap": 409,
    "disk_full": 507,
}
UNPROCESSABLE = 422


def problem(
    request_id: str,
    path: str,
    status: int,
    code: str,
    detail: str,
    *,
    title: str | None = None,
    headers: Mapping[str, str] | None = None,
    **extra: Any,
) -> JSONResponse:
    """A problem response.

    Args:
        code: stable snake-case name of the error; ``type`` is a URI made of it.
        detail: one sentence for a person.
        extra: further members: hint, errors, allowed.
    """
    body = {
        "type": TYPE_BASE + code,
        "title": title or code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "instance": path,
        "code": code,
        "request_id": request_id,
    }
    body |= {key: value for key, value in extra.items() if value not in (None, "")}
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Make the app answer every error with problem details."""
    app.add_exception_handler(CorpError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def pointer(parts: Sequence[str | int]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _answer(request: Request, status: int, code: str, detail: str, **extra: Any) -> Response:
    return problem(request.state.request_id, request.url.path, status, code, detail, **extra)


def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, CorpError)
    extra: dict[str, Any] = {"hint": error.hint}
    status = STATUS.get(error.code, UNPROCESSABLE)
    if isinstance(error, BodyUnusable):
        status = error.status
    if isinstance(error, TransitionRefused):
        extra |= {"job_status": error.status, "allowed": list(error.allowed)}
    if isinstance(error, FieldsInvalid):
        extra |= {"errors": error.errors}
    if isinstance(error, PathRelative | GraderRefused):
        extra |= {"errors": [{"pointer": error.pointer, "detail": error.detail}]}
    return _answer(request, status, error.code, error.detail, **extra)


def _invalid(request: Request, error: Exception) -> Response:
    """A query, path or header parameter that does not validate; bodies go through `server.intake`."""
    assert isinstance(error, RequestValidationError)
    rows = [
        {"pointer": f"{row['loc'][0]}:{row['loc'][-1]}", "detail": str(row["msg"])} for row in error.errors()
    ]
    return _answer(
        request, UNPROCESSABLE, "parameter_invalid", "a parameter of the request is not valid", errors=rows
    )


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    code = {404: "route_unknown", 405: "method_not_allowed"}.get(error.status_code, "request_refused")
    detail = f"{request.method} is not possible here" if error.status_code == 405 else phrase
    if error.status_code == 404:
        detail = "there is nothing at this path; /openapi.json lists the routes"
    return _answer(request, error.status_code, code, detail, title=phrase, headers=error.headers)
