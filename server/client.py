"""A client of the API, as the command uses it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx

from server.errors import ServerRefused, ServerUnreachable

DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT = httpx.Timeout(30.0, connect=5.0)
STREAM_TIMEOUT = httpx.Timeout(30.0, connect=5.0)  # the server pings every 10 s: three missed are a dead link
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A server-sent event; ``seq`` is None for the closing ``done``."""

    seq: int | None
    type: str
    data: Mapping[str, Any]


class Client:
    """Speaks to one server.

    Args:
        url: its base URL.
        transport: of httpx, for tests.
        sleep: waits between reconnections.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._sleep = sleep
        try:
            self._http = httpx.Client(
                base_url=self.url, timeout=TIMEOUT, transport=transport, trust_env=False
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise ServerUnreachable(f"{url} is not a URL: {error}") from None

    def create_job(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        return self._call("POST", "/v1/jobs", json=dict(spec), timeout=300.0)

    def jobs(self, *, limit: int = 20, after: str | None = None, status: str | None = None) -> dict[str, Any]:
        query = {"limit": limit, "after": after, "status": status}
        return self._call("GET", "/v1/jobs", params={k: v for k, v in query.items() if v is not None})

    def job(self, job: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/jobs/{_segment(job)}")

    def cancel_job(self, job: str) -> dict[str, Any]:
        return self._call("POST", f"/v1/jobs/{_segment(job)}:cancel")

    def resume_job(self, job: str) -> dict[str, Any]:
        return self._call("POST", f"/v1/jobs/{_segment(job)}:resume")

    def checkpoint(self, checkpoint: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/checkpoints/{_segment(checkpoint)}")

    def follow(self, job: str, after: int = 0) -> Iterator[StreamEvent]:
        """The job's events until its end or a pause, over any number of lost connections.

        Raises:
            ServerRefused: no such job.
            ServerUnreachable: a minute of failed reconnections.
        """
        seq, failing = after, 0.0
        while True:
            try:
                for event in self._connect(job, seq):
                    failing = 0.0
                    seq = seq if event.seq is None else event.seq
                    yield event
                    if event.type == "done":
                        return
            except httpx.HTTPError as error:
                if failing >= PATIENCE_SECONDS or (seq == after and isinstance(error, httpx.ConnectError)):
                    raise self._unreachable(error) from None
            failing += 1.0
            self._sleep(1.0)

    def _connect(self, job: str, seq: int) -> Iterator[StreamEvent]:
        path = f"/v1/jobs/{_segment(job)}/events:stream"
        headers = {"Last-Event-ID": str(seq)}
        with self._http.stream("GET", path, headers=headers, timeout=STREAM_TIMEOUT) as response:
            if response.status_code != 200:
                response.read()
                raise ServerRefused(_problem(response))
            yield from parse_stream(response.iter_lines())

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None
        if response.status_code >= 400:
            raise ServerRefused(_problem(response))
        answer = _json(response)
        if answer is None:
            raise ServerUnreachable(f"{self.url} answered, but not as a CoRP server", hint="check --url")
        return answer

    def _unreachable(self, error: httpx.HTTPError) -> ServerUnreachable:
        return ServerUnreachable(
            f"no answer from {self.url} ({type(error).__name__})",
            hint="start one with `corp serve`, or name its address with --url or CORP_URL",
        )

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def parse_stream(lines: Iterator[str]) -> Iterator[StreamEvent]:
    """Server-sent events from their lines; an event that the connection cut off is dropped."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        if "data" in fields:
            seq = int(fields["id"]) if "id" in fields else None
            yield StreamEvent(seq, fields.get("event", "message"), json.loads(fields["data"]))
        fields = {}


def _segment(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _json(response: httpx.Response) -> dict[str, Any] | None:
    try:
        value = response.json()
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _problem(response: httpx.Response) -> dict[str, Any]:
    found = _json(response)
    if found is not None and "code" in found:
        return found
    return {"code": "server_refused", "detail": f"the server answered {response.status_code}"}
