from __future__ import annotations

import asyncio
import logging

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from server.boundary import Boundary
from tests.server.service import problem_of


def ask(app: ASGIApp, body: bytes = b"", *, any_host: bool = False) -> httpx.Response:
    outer = Boundary(app, fresh_id=lambda: "req_1", any_host=any_host, body_bytes=1000)

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(outer)
        async with httpx.AsyncClient(transport=transport, base_url="http://elsewhere") as client:
            return await client.post("/v1/jobs", content=body)

    return asyncio.run(call())


async def broken(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("a password in a message")


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass


def test_a_fault_is_a_500_that_leaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = ask(broken, any_host=True)
    assert (answer.status_code, problem_of(answer)["code"]) == (500, "internal")
    assert "password" not in answer.text
    assert "req_1" in caplog.text
    assert "a password in a message" in caplog.text


def test_a_loopback_server_refuses_other_host_names() -> None:
    answer = ask(broken)
    assert (answer.status_code, problem_of(answer)["code"]) == (421, "host_refused")


def test_the_limit_is_exact() -> None:
    assert ask(reading, b"x" * 1001, any_host=True).status_code == 413
    with pytest.raises(AssertionError):  # httpx: the app sent no response, so the body was let through
        ask(reading, b"x" * 1000, any_host=True)
