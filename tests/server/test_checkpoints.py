from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

import httpx
import pytest

from server import jobs, leases
from server.app import create_app
from server.database import Database
from server.identifiers import sibling
from server.layout import Layout
from server.settings import Settings
from tests.server.conftest import SPEC, Time
from tests.server.service import problem_of

CONTENT = bytes(range(256)) * 4


@pytest.fixture
def exported(layout: Layout, database: Database, time: Time) -> str:
    """The id of a checkpoint with one listed file, one unlisted, one link and one listed path out of it."""
    job = jobs.create(database, time.clock, SPEC)["id"]
    lease = leases.claim(database, time.clock, "w")
    assert lease is not None
    report = {"outcome": "improved", "reason": "better", "gate": {"gain": 0.1}}
    leases.finish(database, time.clock, lease, "succeeded", report=report)
    folder = layout.checkpoint(job)
    folder.mkdir(parents=True)
    secret = folder.parent / "secret"
    secret.write_text("secret")
    (folder / "model.safetensors").write_bytes(CONTENT)
    (folder / "unlisted").write_text("secret")
    (folder / "link").symlink_to(secret)
    (folder / "recipe.json").write_text("{}")
    entry = {"bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
    names = ("model.safetensors", "link", "../secret", str(secret))
    (folder / "manifest.json").write_text(json.dumps({"version": 1, "files": dict.fromkeys(names, entry)}))
    return sibling(job, "ckp")


def get(layout: Layout, database: Database, time: Time, path: str, **headers: str) -> httpx.Response:
    app = create_app(Settings(layout, database, time.clock))

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path, headers=headers)

    return asyncio.run(call())


def test_a_checkpoint_shows_its_manifest_recipe_and_gate(
    layout: Layout, database: Database, time: Time, exported: str
) -> None:
    shown = get(layout, database, time, f"/v1/checkpoints/{exported}").json()
    assert shown["job_id"] == sibling(exported, "job")
    assert shown["recipe_sha256"] == hashlib.sha256(b"{}").hexdigest()
    assert shown["gate"] == {"gain": 0.1}
    assert "model.safetensors" in {file["name"] for file in shown["files"]}


def test_ranges_of_a_file_are_exact(layout: Layout, database: Database, time: Time, exported: str) -> None:
    path = f"/v1/checkpoints/{exported}/files/model.safetensors"
    assert get(layout, database, time, path).content == CONTENT
    part = get(layout, database, time, path, range="bytes=10-19")
    assert (part.status_code, part.content) == (206, CONTENT[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{len(CONTENT)}"


@pytest.mark.parametrize(("wanted", "status"), [("bytes=5000-", 416), ("lines=1-2", 400), ("bytes=9-3", 400)])
def test_an_impossible_range_is_a_problem(
    layout: Layout, database: Database, time: Time, exported: str, wanted: str, status: int
) -> None:
    path = f"/v1/checkpoints/{exported}/files/model.safetensors"
    answer = get(layout, database, time, path, range=wanted)
    assert answer.status_code == status
    problem_of(answer)


@pytest.mark.parametrize(
    "name",
    [
        "unlisted",
        "link",
        "..%2fsecret",
        "%2e%2e/secret",
        "%2e%2e%2fsecret",
        "./model.safetensors",
        "model.safetensors%00",
        "model.safetensors/",
        "sub/../model.safetensors",
        "%2fetc%2fpasswd",
        "．．/secret",
    ],
)
def test_nothing_but_the_checkpoints_own_files_is_served(
    layout: Layout, database: Database, time: Time, exported: str, name: str
) -> None:
    answer = get(layout, database, time, f"/v1/checkpoints/{exported}/files/{name}")
    if answer.status_code == 200:  # the client itself made the path plain before it was sent
        assert answer.content == CONTENT
    else:
        assert answer.status_code == 404
        problem_of(answer)


def test_an_absolute_path_that_a_manifest_lists_is_not_followed(
    layout: Layout, database: Database, time: Time, exported: str
) -> None:
    secret: Path = layout.run(sibling(exported, "job")) / "secret"
    assert secret.read_text() == "secret"
    answer = get(
        layout, database, time, f"/v1/checkpoints/{exported}/files/{str(secret).replace('/', '%2f')}"
    )
    assert answer.status_code == 404


def test_a_job_without_improvement_has_no_checkpoint(layout: Layout, database: Database, time: Time) -> None:
    job = jobs.create(database, time.clock, SPEC)["id"]
    answer = get(layout, database, time, f"/v1/checkpoints/{sibling(job, 'ckp')}")
    assert (answer.status_code, problem_of(answer)["code"]) == (404, "checkpoint_unknown")
