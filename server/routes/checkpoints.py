"""/v1/checkpoints/{id}: what was exported, the evidence for it, and its files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.responses import FileResponse

from server import jobs
from server.errors import CheckpointUnknown, JobUnknown
from server.identifiers import sibling
from server.openapi import refusals
from server.routes import Context
from server.schemas import Checkpoint, CheckpointFile

router = APIRouter(prefix="/v1/checkpoints", tags=["checkpoints"])

MANIFEST = "manifest.json"
ONE = refusals(s404="no such checkpoint, or no such file in it")
FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the file",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    206: {"description": "the part that the Range header asks for"},
}


@router.get(
    "/{checkpoint_id}",
    operation_id="getCheckpoint",
    summary="Look at a checkpoint and its evidence",
    response_model=Checkpoint,
    responses=ONE,
)
def get_checkpoint(checkpoint_id: str, context: Context) -> Checkpoint:
    row, folder = _find(checkpoint_id, context)
    manifest = _manifest(folder)
    return Checkpoint(
        id=checkpoint_id,
        job_id=row["id"],
        path=str(folder),
        created_at=row["finished_at"],
        files=_files(manifest),
        manifest=manifest,
        recipe_sha256=hashlib.sha256((folder / "recipe.json").read_bytes()).hexdigest(),
        gate=(row["report"] or {}).get("gate"),
    )


@router.get(
    "/{checkpoint_id}/files/{name:path}",
    operation_id="getCheckpointFile",
    summary="Download a file of a checkpoint, or a range of it",
    response_class=FileResponse,
    responses=FILE
    | ONE
    | refusals(s400="the Range header is malformed", s416="the Range header asks for what is not there"),
)
def get_file(checkpoint_id: str, name: str, context: Context) -> FileResponse:
    """Only the names in the manifest, and the manifest itself, are files here; a path is never followed."""
    _, folder = _find(checkpoint_id, context)
    listed = {file.name for file in _files(_manifest(folder))} | {MANIFEST}
    path = folder / name if name in listed else None
    if path is None or not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise CheckpointUnknown(
            "the checkpoint has no file of that name", hint="GET /v1/checkpoints/{id} lists its files"
        )
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


def _find(checkpoint: str, context: Context) -> tuple[dict[str, Any], Path]:
    unknown = CheckpointUnknown(
        "there is no checkpoint of that id", hint="checkpoint.id of an improved job is the id"
    )
    if not checkpoint.startswith("ckp_"):
        raise unknown
    try:
        row = jobs.get(context.database, sibling(checkpoint, "job"))
    except JobUnknown:
        raise unknown from None
    folder = context.layout.checkpoint(row["id"])
    if row["outcome"] != "improved" or not (folder / MANIFEST).is_file():
        raise unknown
    return row, folder


def _manifest(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return manifest


def _files(manifest: dict[str, Any]) -> list[CheckpointFile]:
    return [CheckpointFile(name=name, **facts) for name, facts in sorted(manifest["files"].items())]
