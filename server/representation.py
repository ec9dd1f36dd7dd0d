"""From database rows to the API's answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.identifiers import sibling
from server.schemas import Job, JobSummary


def summary(row: Mapping[str, Any]) -> JobSummary:
    return JobSummary(**_fields(row, JobSummary))


def job(row: Mapping[str, Any]) -> Job:
    return Job(**_fields(row, Job))


def _fields(row: Mapping[str, Any], model: type[JobSummary]) -> dict[str, Any]:
    values = {key: row[key] for key in model.model_fields if key in row}
    ready = row["status"] == "succeeded" and row["outcome"] == "improved"
    return values | {"checkpoint_id": sibling(row["id"], "ckp") if ready else None}
