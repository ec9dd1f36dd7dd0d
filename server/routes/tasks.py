"""/v1/tasks: validate."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from server import intake
from server.openapi import TASK_BODY, refusals
from server.routes import Context
from server.schemas import TaskReport

router = APIRouter(prefix="/v1", tags=["tasks"])

VALIDATE = refusals(
    s400="not JSON",
    s403="a verifier names Python code that the server was not told to run",
    s409="splits overlap",
    s413="body too large",
    s415="not application/json",
    s422="a field, the data or the verifier cannot be used",
)


@router.post(
    "/tasks:validate",
    operation_id="validateTask",
    summary="Try to fool a task's verifier",
    response_model=TaskReport,
    responses=VALIDATE,
    openapi_extra=TASK_BODY,
)
async def validate_task(
    request: Request,
    context: Context,
    base: Annotated[
        float | None, Query(ge=0, le=1, description="share of prompts that the base model passes")
    ] = None,
) -> TaskReport:
    """The hackability report, failed probes included. A job whose task fails one is refused."""
    body = await request.body()
    return await run_in_threadpool(_validate, body, request.headers.get("content-type", ""), context, base)


def _validate(body: bytes, media_type: str, context: Context, base: float | None) -> TaskReport:
    from verify.hackability.base import with_base
    from verify.hackability.examination import examine
    from verify.task import load_task

    spec = intake.read_task(body, media_type, context.graders)
    with closing(load_task(spec, context.layout.data)) as task:
        report = examine(task)
    return TaskReport.model_validate((report if base is None else with_base(report, base)).to_json())
