from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from server.client import Client, parse_stream
from server.errors import ServerRefused, ServerUnreachable


def test_a_stream_is_parsed_and_a_cut_off_event_dropped() -> None:
    lines = [
        "retry: 2000",
        "",
        ": ping",
        "",
        "id: 7",
        "event: log",
        'data: {"a": 1}',
        "",
        "id: 8",
        "event: log",
    ]
    events = list(parse_stream(iter(lines)))
    assert [(event.seq, event.type, event.data) for event in events] == [(7, "log", {"a": 1})]


class Flaky(httpx.BaseTransport):
    """Five events over connections that break after two."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        seen = int(request.headers["last-event-id"])
        self.asked.append(seen)
        return httpx.Response(200, stream=Broken(seen))


class Broken(httpx.SyncByteStream):
    def __init__(self, seen: int) -> None:
        self.seen = seen

    def __iter__(self) -> Iterator[bytes]:
        for seq in range(self.seen + 1, min(self.seen + 3, 6)):
            yield f"id: {seq}\nevent: log\ndata: {{}}\n\n".encode()
        if self.seen + 2 < 5:
            yield b"id: 99\nevent: lo"
            raise httpx.ReadError("reset")
        yield b'event: done\ndata: {"status": "succeeded"}\n\n'


def test_following_takes_up_where_a_connection_broke() -> None:
    transport = Flaky()
    client = Client("http://server", transport=transport, sleep=lambda _seconds: None)
    events = list(client.follow("job_1"))
    assert [event.seq for event in events] == [1, 2, 3, 4, 5, None]
    assert transport.asked == [0, 2, 4]


def test_a_problem_becomes_an_error_with_its_code_and_hint() -> None:
    problem = {"code": "data_unusable", "detail": "no rows", "hint": "add some", "errors": []}
    transport = httpx.MockTransport(lambda _request: httpx.Response(422, json=problem))
    with pytest.raises(ServerRefused) as caught:
        Client("http://server", transport=transport).create_job({})
    assert (caught.value.problem["code"], caught.value.hint) == ("data_unusable", "add some")


def test_what_is_no_corp_server_is_said_so() -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, text="<html>"))
    with pytest.raises(ServerUnreachable, match="not as a CoRP server"):
        Client("http://server", transport=transport).job("x")


def test_a_server_that_is_not_there_is_an_error_that_says_how_to_start_one() -> None:
    with pytest.raises(ServerUnreachable, match="corp serve"):
        Client("http://127.0.0.1:9").jobs()
