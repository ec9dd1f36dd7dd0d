"""The routes of the API, one module per resource."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from server.settings import Settings


def _settings(request: Request) -> Settings:
    return cast(Settings, request.app.state.settings)


Context = Annotated[Settings, Depends(_settings)]
