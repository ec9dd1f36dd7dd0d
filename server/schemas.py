"""The API's answers: what clients may rely on, and what OpenAPI says."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.states import Status


class CheckpointPlace(BaseModel):
    id: str = Field(description="GET /v1/checkpoints/{id} has its files and evidence")
    path: str = Field(description="directory on the server's machine")


class JobSummary(BaseModel):
    """A job without its spec and report, as lists show it."""

    id: str = Field(description="job_ and 26 characters; ids sort by time of creation")
    object: Literal["job"] = "job"
    name: str
    status: Status = Field(description="whether it ran")
    outcome: Literal["improved", "no_improvement"] | None = Field(
        description="whether it helped; null until the job has succeeded"
    )
    phase: str | None = Field(
        description="the one it is in: preflight, baseline, calibrate, search, consolidate, recenter,"
        " recenter-K, gate, controls, diagnostics, export or audit"
    )
    progress: dict[str, Any] | None = Field(description="of the phase: done, total, rate, eta_seconds")
    error: dict[str, Any] | None = Field(description="code, detail and hint of a failed or paused job")
    attempt: int = Field(description="how often a worker has taken it up")
    checkpoint: CheckpointPlace | None = Field(description="of an improved job")
    spec_sha256: str
    created_at: str = Field(description="RFC 3339, UTC")
    started_at: str | None
    finished_at: str | None


class Job(JobSummary):
    """A job with its resolved spec and, when it has succeeded, its report."""

    spec: dict[str, Any] = Field(description="every field, defaults included")
    report: dict[str, Any] | None = Field(description="every number with its split and n")


class JobList(BaseModel):
    object: Literal["list"] = "list"
    data: list[JobSummary]
    has_more: bool


class Event(BaseModel):
    seq: int = Field(description="order of events; the id of the event stream")
    type: str
    time: str
    data: dict[str, Any]


class EventList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Event]
    has_more: bool


class CheckpointFile(BaseModel):
    name: str
    bytes: int
    sha256: str


class Checkpoint(BaseModel):
    """An exported model and the evidence for it."""

    id: str
    object: Literal["checkpoint"] = "checkpoint"
    status: Literal["ready"] = "ready"
    job_id: str
    path: str = Field(description="directory on the server's machine")
    created_at: str | None
    files: list[CheckpointFile]
    manifest: dict[str, Any]
    recipe_sha256: str = Field(description="of recipe.json")
    gate: dict[str, Any] | None = Field(
        description="base, candidate, gain, interval, p_value, fixes, regressions"
    )


class WorstInput(BaseModel):
    row: str
    input: str = Field(description="its first 2,000 characters")
    score: float


class ProbeFinding(BaseModel):
    probe: str
    rule: str
    status: Literal["pass", "warn", "fail", "skip"]
    score: float | None = Field(description="mean value in full marks, or what the rule measures")
    success: float | None = Field(description="share of completions that passed")
    judged: int = Field(description="completions")
    worst: WorstInput | None
    note: str


class TaskReport(BaseModel):
    """What a task's verifier makes of right answers and of attempts to fool it."""

    object: Literal["task.report"] = "task.report"
    passed: bool = Field(description="whether a job with this task would start")
    task: str
    digest: str
    kind: str
    rows: int = Field(description="of the gate split that were probed")
    majority: float | None = Field(description="share of the commonest right answer")
    findings: list[ProbeFinding]


class Health(BaseModel):
    status: Literal["ok", "unavailable"]


class Check(BaseModel):
    ok: bool
    detail: str


class Readiness(Health):
    checks: dict[str, Check]


class FieldError(BaseModel):
    pointer: str = Field(description="JSON pointer into the body, or query:name")
    detail: str


class Problem(BaseModel):
    """RFC 9457 problem details, media type application/problem+json."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str = Field(description="stable name of the error, listed in docs/api.md")
    request_id: str
    hint: str | None = None
    errors: list[FieldError] | None = None
    allowed: list[str] | None = Field(default=None, description="actions that the job's state allows")
