"""/healthz: the process answers. /readyz: jobs can be taken and will be run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response

from server import leases
from server.locks import held
from server.openapi import refusals
from server.routes import Context
from server.schemas import Check, Health, Readiness

router = APIRouter(tags=["health"])

SILENCE_SECONDS = 20.0  # four missed heartbeats

UNREADY: dict[int | str, dict[str, Any]] = {
    503: {"model": Readiness, "description": "a check fails; see `checks`"}
}


@router.get("/healthz", operation_id="getHealth", summary="Is the process alive", responses=refusals())
def health() -> Health:
    return Health(status="ok")


@router.get("/readyz", operation_id="getReadiness", summary="Can jobs run", responses=UNREADY | refusals())
def readiness(context: Context, response: Response) -> Readiness:
    """Database writable, disk above the watermark, a worker alive; otherwise 503 with every result."""
    checks = {name: _outcome(check, context) for name, check in CHECKS.items()}
    ready = all(check.ok for check in checks.values())
    response.status_code = 200 if ready else 503
    return Readiness(status="ok" if ready else "unavailable", checks=checks)


def _outcome(check: Callable[[Any], tuple[bool, str]], context: Context) -> Check:
    try:
        ok, detail = check(context)
    except Exception as error:  # a check that cannot be made has failed
        ok, detail = False, type(error).__name__
    return Check(ok=ok, detail=detail)


def _database(context: Context) -> tuple[bool, str]:
    with context.database.write() as connection:
        connection.exec_driver_sql("UPDATE workers SET pid = pid WHERE 0")
    return True, "writable"


def _disk(context: Context) -> tuple[bool, str]:
    free = shutil.disk_usage(context.layout.data).free
    return free >= context.free_bytes, f"{free / 1e9:.1f} GB free, {context.free_bytes / 1e9:.1f} GB needed"


def _worker(context: Context) -> tuple[bool, str]:
    heard = leases.heard_of(context.database, context.clock, SILENCE_SECONDS)
    alive = [worker for worker in heard if held(context.layout.worker_lock(worker))]
    return bool(alive), f"{len(alive)} alive"


CHECKS = {"database": _database, "disk": _disk, "worker": _worker}
