from __future__ import annotations

import asyncio
import threading

from server import events, jobs
from server.database import Database
from server.routes.stream import PAGE, follow
from tests.server.conftest import SPEC, Time


def test_what_is_replayed_goes_out_a_page_at_a_time(database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    with database.write() as connection:
        for number in range(PAGE):
            events.append(connection, time.clock, job, "log", {"message": str(number)})
    jobs.cancel(database, time.clock, job)

    async def sent() -> list[str]:
        return [chunk async for chunk in follow(database, job, 0, threading.Event())]

    chunks = asyncio.run(sent())
    assert len(chunks) == 4  # retry, a full page, the rest, done
    ids = [line.removeprefix("id: ") for line in "".join(chunks).splitlines() if line.startswith("id: ")]
    assert ids == [str(number) for number in range(1, PAGE + 3)]
    assert chunks[-1].startswith("event: done\n")
