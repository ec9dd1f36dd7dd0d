"""The outermost layer of the app: request ids, host check, body limit, and no traceback to a client."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.errors import BodyUnusable
from server.problems import problem

log = logging.getLogger("corp.api")

BODY_BYTES = 64 * 1024 * 1024
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class Boundary:
    """ASGI middleware.

    Args:
        fresh_id: makes request ids.
        any_host: accept any Host header. Off for a loopback server: a web page whose name an attacker
            resolves to 127.0.0.1 (DNS rebinding) could otherwise use the API from the user's browser.
        body_bytes: largest request body.
    """

    def __init__(
        self, app: ASGIApp, *, fresh_id: Callable[[], str], any_host: bool, body_bytes: int = BODY_BYTES
    ) -> None:
        self._app = app
        self._fresh_id = fresh_id
        self._any_host = any_host
        self._body_bytes = body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = self._fresh_id()
        scope.setdefault("state", {})["request_id"] = request_id
        request = Request(scope)
        started = False
        refused: Message | None = (
            None  # the start of an error in plain text, as starlette's file answers have
        )

        async def sender(message: Message) -> None:
            nonlocal started, refused
            if message["type"] == "http.response.start":
                if _is_plain_error(message):
                    refused = message
                    return
                started = True
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            if refused is None:
                await send(message)
            elif not message.get("more_body"):
                status, refused = refused["status"], None
                await answer(status, "request_refused", HTTPStatus(status).phrase)

        async def answer(status: int, code: str, detail: str, hint: str = "") -> None:
            response = problem(request_id, request.url.path, status, code, detail, hint=hint)
            await response(scope, receive, sender)

        if not (self._any_host or _hostname(request) in LOCAL_HOSTS):
            await answer(421, "host_refused", "this server answers to localhost and 127.0.0.1 only")
            return
        try:
            await self._app(scope, self._limited(request, receive), sender)
        except BodyUnusable as error:
            await answer(error.status, error.code, error.detail, error.hint)
        except Exception:
            log.exception("request %s: %s %s", request_id, request.method, request.url.path)
            if not started:
                await answer(
                    500, "internal", "a fault in the server; its log has the details under the request id"
                )

    def _limited(self, request: Request, receive: Receive) -> Receive:
        """``receive`` that stops at the limit, whether the length was announced or not."""
        announced = request.headers.get("content-length", "")
        if announced.isdigit() and int(announced) > self._body_bytes:
            raise self._too_large()
        total = 0

        async def limited() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self._body_bytes:
                raise self._too_large()
            return message

        return limited

    def _too_large(self) -> BodyUnusable:
        return BodyUnusable(
            f"the body is larger than {self._body_bytes} bytes",
            status=413,
            hint="put the rows into a JSONL file on the server and name its absolute path in task.data.path",
        )


def _is_plain_error(message: Message) -> bool:
    kinds = [value for name, value in message["headers"] if name == b"content-type"]
    return bool(message["status"] >= 400 and any(kind.startswith(b"text/plain") for kind in kinds))


def _hostname(request: Request) -> str | None:
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        return None
