"""From database rows to the API's answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.identifiers import sibling
from server.layout import Layout
from server.schemas import CheckpointPlace, Job, JobSummary


def summary(row: Mapping[str, Any], layout: Layout) -> JobSummary:
    return JobSummary(**_fields(row, layout, JobSummary))


def job(row: Mapping[str, Any], layout: Layout) -> Job:
    return Job(**_fields(row, layout, Job))


def _fields(row: Mapping[str, Any], layout: Layout, model: type[JobSummary]) -> dict[str, Any]:
    values = {key: row[key] for key in model.model_fields if key in row}
    return values | {"checkpoint": _checkpoint(row, layout) if row["outcome"] == "improved" else None}


def _checkpoint(row: Mapping[str, Any], layout: Layout) -> CheckpointPlace:
    return CheckpointPlace(id=sibling(row["id"], "ckp"), path=str(layout.checkpoint(row["id"])))
