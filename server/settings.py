"""What the HTTP app works with."""

from __future__ import annotations

from dataclasses import dataclass

from server.boundary import BODY_BYTES
from server.clock import Clock
from server.database import Database
from server.layout import Layout


@dataclass(frozen=True, slots=True)
class Settings:
    """An open database and the limits.

    Args:
        any_host: accept every Host header; off for a server that only loopback reaches.
        body_bytes: largest request body.
        graders: modules whose graders a job may name.
        free_bytes: less disk than this and the server is not ready.
    """

    layout: Layout
    database: Database
    clock: Clock
    any_host: bool = False
    body_bytes: int = BODY_BYTES
    graders: tuple[str, ...] = ()
    free_bytes: int = 1_000_000_000
