"""The HTTP API: `create_app` builds it, routes hold what it does."""

from __future__ import annotations

import secrets
import threading

from fastapi import FastAPI

from server import problems
from server.boundary import Boundary
from server.openapi import document
from server.routes import checkpoints, health, jobs, stream, tasks
from server.settings import Settings
from server.version import installed

DESCRIPTION = (
    "Post a model and a verifiable task; get a better checkpoint with the evidence, or an abstention."
)


def create_app(settings: Settings) -> FastAPI:
    """The ASGI app over an open database. Set ``app.state.stopping`` to end its event streams."""
    app = FastAPI(
        title="CoRP",
        version=installed(),
        description=DESCRIPTION,
        docs_url=None,  # Swagger UI would be loaded from a CDN
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.settings = settings
    app.state.stopping = threading.Event()
    for module in (jobs, stream, checkpoints, tasks, health):
        app.include_router(module.router)
    problems.install(app)
    app.add_middleware(
        Boundary,
        fresh_id=lambda: f"req_{secrets.token_hex(12)}",
        any_host=settings.any_host,
        body_bytes=settings.body_bytes,
    )
    app.openapi = lambda: document(app)  # type: ignore[method-assign]
    return app
