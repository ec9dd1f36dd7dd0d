"""/v1/jobs/{id}/events:stream: replay from the database, then follow, as server-sent events."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from server import events, jobs
from server.database import Database
from server.openapi import refusals
from server.routes import Context

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

POLL_SECONDS = 0.25
PING_SECONDS = 10.0  # proxies drop what is silent for longer than 15 s
RETRY_MILLISECONDS = 2000
PAGE = 100

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "one event per message: id is its seq; the last message is `event: done`",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/{job_id}/events:stream",
    operation_id="streamEvents",
    summary="Follow what happens to a job",
    response_class=StreamingResponse,
    responses=STREAM | refusals(s404="no such job", s422="a parameter is not valid"),
)
async def stream_events(
    job_id: str,
    request: Request,
    context: Context,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="seq of the last event already seen")] = 0,
    last_event_id: Annotated[
        int | None, Header(ge=0, le=2**63 - 1, description="goes before `after`")
    ] = None,
) -> StreamingResponse:
    """Events from the one after `Last-Event-ID`; reconnecting loses and repeats nothing."""
    await run_in_threadpool(jobs.require, context.database, job_id)
    seq = after if last_event_id is None else last_event_id
    messages = follow(context.database, job_id, seq, request.app.state.stopping)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(messages, media_type="text/event-stream", headers=headers)


async def follow(database: Database, job: str, seq: int, stopping: threading.Event) -> AsyncIterator[str]:
    """The stream's messages until the job has ended or the server stops."""
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    silent = 0.0
    while not stopping.is_set():
        rows, end = await run_in_threadpool(events.tail, database, job, seq, PAGE)
        if rows:  # in one piece: a reader that has gone costs one failed write, not a hundred
            yield "".join(_message(row["type"], row, row["seq"]) for row in rows)
            seq = rows[-1]["seq"]
        if end is not None:
            yield _message("done", end)
            return
        if len(rows) == PAGE:
            continue
        silent = 0.0 if rows else silent + POLL_SECONDS
        if silent >= PING_SECONDS:
            silent = 0.0
            yield ": ping\n\n"
        await asyncio.sleep(POLL_SECONDS)


def _message(kind: str, data: Mapping[str, Any], seq: int | None = None) -> str:
    lead = "" if seq is None else f"id: {seq}\n"
    return f"{lead}event: {kind}\ndata: {json.dumps(dict(data), separators=(',', ':'))}\n\n"
