"""/v1/jobs: create, list, look at, cancel, resume."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from server import events, intake, jobs, representation
from server.identifiers import ALPHABET
from server.openapi import SPEC_BODY, refusals
from server.routes import Context
from server.schemas import Event, EventList, Job, JobList
from server.states import Status

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

CREATE = refusals(
    s400="not JSON",
    s409="splits overlap",
    s413="body too large",
    s415="not application/json",
    s422="a field, the model, the task or a verifier cannot be used",
    s507="too little disk",
)
LIST = refusals(s422="a parameter is not valid")
ONE = refusals(s404="no such job")

JOB_ID = rf"^job_[{ALPHABET}]{{26}}$"
Limit = Annotated[int, Query(ge=1, le=100, description="most entries")]


@router.post(
    "",
    operation_id="createJob",
    summary="Check a job and queue it",
    status_code=202,
    response_model=Job,
    responses=CREATE,
    openapi_extra=SPEC_BODY,
)
async def create_job(request: Request, response: Response, context: Context) -> Job:
    """The model, the task with its data and splits, and the verifier are checked before the answer."""
    body = await request.body()
    made = await run_in_threadpool(_create, body, request.headers.get("content-type", ""), context)
    response.headers["Location"] = f"/v1/jobs/{made.id}"
    return made


def _create(body: bytes, media_type: str, context: Context) -> Job:
    from corp.run import prepare

    spec = intake.read_spec(body, media_type, context.graders)
    prepare(spec, context.layout.data)
    return representation.job(
        jobs.create(context.database, context.clock, spec.model_dump(mode="json")), context.layout
    )


@router.get(
    "", operation_id="listJobs", summary="List jobs, newest first", response_model=JobList, responses=LIST
)
def list_jobs(
    context: Context,
    limit: Limit = 20,
    after: Annotated[
        str | None, Query(pattern=JOB_ID, description="id of the last job of the previous page")
    ] = None,
    status: Annotated[Status | None, Query(description="only jobs in this state")] = None,
) -> JobList:
    rows, more = jobs.page(context.database, limit=limit, after=after, status=status)
    return JobList(data=[representation.summary(row, context.layout) for row in rows], has_more=more)


@router.get("/{job_id}", operation_id="getJob", summary="Look at a job", response_model=Job, responses=ONE)
def get_job(job_id: str, context: Context) -> Job:
    return representation.job(jobs.get(context.database, job_id), context.layout)


@router.post(
    "/{job_id}:cancel",
    operation_id="cancelJob",
    summary="Ask a job to stop",
    status_code=202,
    response_model=Job,
    responses=ONE | refusals(s409="the job has already ended by itself"),
)
def cancel_job(job_id: str, context: Context) -> Job:
    """A running job stops within one block of prompts. Cancelling again changes nothing."""
    return representation.job(jobs.cancel(context.database, context.clock, job_id), context.layout)


@router.post(
    "/{job_id}:resume",
    operation_id="resumeJob",
    summary="Go on with a paused job",
    status_code=202,
    response_model=Job,
    responses=ONE | refusals(s409="the job has ended, or is about to"),
)
def resume_job(job_id: str, context: Context) -> Job:
    """Once its verifier can judge: nothing is generated again. Resuming again changes nothing."""
    return representation.job(jobs.resume(context.database, context.clock, job_id), context.layout)


@router.get(
    "/{job_id}/events",
    operation_id="listEvents",
    summary="List what happened to a job, oldest first",
    response_model=EventList,
    responses=ONE | LIST,
)
def list_events(
    job_id: str,
    context: Context,
    limit: Limit = 20,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="seq of the last event already seen")] = 0,
) -> EventList:
    jobs.require(context.database, job_id)
    rows, more = events.after(context.database, job_id, after, limit)
    return EventList(data=[Event(**row) for row in rows], has_more=more)
