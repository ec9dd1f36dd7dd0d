"""The API of a real server in a process of its own, whose jobs are scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.service import Service, problem_of, scripted_job, service, until


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture(scope="module")
def http(api: Service) -> Iterator[httpx.Client]:
    with api.http as client:
        yield client


def test_a_posted_job_runs_to_its_report(api: Service, http: httpx.Client, tiny_llama: Path) -> None:
    answer = http.post("/v1/jobs", json=scripted_job(tiny_llama))
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert (job["object"], job["status"], job["outcome"], job["started_at"]) == ("job", "queued", None, None)
    assert job["spec"]["population"]["scheme"] == "independent"  # a default, resolved
    ended = api.ended(job["id"])
    assert (ended["status"], ended["outcome"], ended["phase"]) == ("succeeded", "no_improvement", "search")
    assert ended["report"]["reason"] == "a script"
    assert ended["created_at"] <= ended["started_at"] <= ended["finished_at"]
    assert ended["checkpoint"] is None


def test_a_failed_job_says_what_to_do(api: Service, tiny_llama: Path) -> None:
    job = api.client.create_job(scripted_job(tiny_llama, "fail"))["id"]
    ended = api.ended(job)
    assert ended["status"] == "failed"
    assert ended["error"] == {
        "code": "calibration_failed",
        "detail": "no sigma moves the model",
        "hint": "raise the target",
    }


def test_a_fault_of_ours_names_its_log_and_keeps_its_traceback_there(api: Service, tiny_llama: Path) -> None:
    ended = api.ended(api.client.create_job(scripted_job(tiny_llama, "bug"))["id"])
    assert ended["error"]["code"] == "internal"
    assert "secret of the traceback" not in str(ended)
    assert "secret of the traceback" in Path(ended["error"]["log"]).read_text()


def test_lists_are_newest_first_and_pages_join(http: httpx.Client, tiny_llama: Path) -> None:
    made = [http.post("/v1/jobs", json=scripted_job(tiny_llama)).json()["id"] for _ in range(3)]
    first = http.get("/v1/jobs", params={"limit": 2}).json()
    assert (first["object"], first["has_more"]) == ("list", True)
    second = http.get("/v1/jobs", params={"limit": 1, "after": first["data"][-1]["id"]}).json()
    assert [job["id"] for job in first["data"] + second["data"]] == made[::-1]
    assert "spec" not in first["data"][0]


def test_a_job_is_cancelled_within_a_block_and_again_without_effect(
    api: Service, http: httpx.Client, tiny_llama: Path
) -> None:
    job = http.post("/v1/jobs", json=scripted_job(tiny_llama, "blocks=1000", "pause=0.05")).json()["id"]
    until(lambda: api.job(job)["progress"] is not None)
    assert http.post(f"/v1/jobs/{job}:cancel").json()["status"] == "cancelling"
    ended = api.ended(job)
    assert ended["status"] == "cancelled"
    again = http.post(f"/v1/jobs/{job}:cancel")
    assert (again.status_code, again.json()) == (202, ended)


def test_cancelling_a_finished_job_is_a_conflict(api: Service, http: httpx.Client, tiny_llama: Path) -> None:
    job = api.ended(api.client.create_job(scripted_job(tiny_llama))["id"])["id"]
    answer = http.post(f"/v1/jobs/{job}:cancel")
    body = problem_of(answer)
    assert (answer.status_code, body["code"]) == (409, "transition_refused")
    assert (body["job_status"], body["allowed"]) == ("succeeded", [])


def test_events_page_without_gaps(api: Service, http: httpx.Client, tiny_llama: Path) -> None:
    job = api.ended(api.client.create_job(scripted_job(tiny_llama))["id"])["id"]
    seen: list[dict[str, Any]] = []
    more = True
    while more:
        after = seen[-1]["seq"] if seen else 0
        page = http.get(f"/v1/jobs/{job}/events", params={"limit": 2, "after": after}).json()
        seen += page["data"]
        more = page["has_more"]
    assert [event["type"] for event in seen][:3] == ["job.created", "job.started", "phase.started"]
    assert seen[-1]["type"] == "job.succeeded"
    assert [event["seq"] for event in seen] == sorted({event["seq"] for event in seen})


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "route_unknown"),
        ("GET", "/v1/jobs/", 404, "route_unknown"),
        ("PUT", "/v1/jobs", 405, "method_not_allowed"),
        ("GET", "/v1/jobs/job_unknown", 404, "job_unknown"),
        ("POST", "/v1/jobs/job_unknown:cancel", 404, "job_unknown"),
        ("GET", "/v1/jobs/job_unknown/events", 404, "job_unknown"),
        ("GET", "/v1/jobs/job_unknown/events:stream", 404, "job_unknown"),
        ("GET", "/v1/checkpoints/ckp_unknown", 404, "checkpoint_unknown"),
        ("GET", "/v1/checkpoints/job_unknown/files/config.json", 404, "checkpoint_unknown"),
        ("GET", "/v1/jobs?limit=0", 422, "parameter_invalid"),
        ("GET", "/v1/jobs?limit=101", 422, "parameter_invalid"),
        ("GET", "/v1/jobs?status=lost", 422, "parameter_invalid"),
        ("GET", "/v1/jobs?after=job_unknown", 422, "parameter_invalid"),
        ("GET", "/v1/jobs/job_unknown/events?after=-1", 422, "parameter_invalid"),
        ("GET", "/v1/jobs/job_unknown/events?after=99999999999999999999", 422, "parameter_invalid"),
    ],
)
def test_every_refusal_is_a_problem(
    http: httpx.Client, method: str, path: str, status: int, code: str
) -> None:
    answer = http.request(method, path)
    assert (answer.status_code, problem_of(answer)["code"]) == (status, code)


def test_405_names_the_methods(http: httpx.Client) -> None:
    assert set(http.put("/v1/jobs").headers["allow"].split(", ")) & {"GET", "POST"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"name": NaN}',
        b'{"seed": 1e999}',
        b'{"name": "a", "name": "b"}',
        b'{"name": "\\ud800"}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"seed": ' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_not_json_is_a_400(http: httpx.Client, body: bytes) -> None:
    answer = http.post("/v1/jobs", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, problem_of(answer)["code"]) == (400, "body_unusable")


def test_a_body_of_another_type_is_a_415(http: httpx.Client) -> None:
    answer = http.post("/v1/jobs", content=b"{}", headers={"content-type": "text/plain"})
    assert (answer.status_code, problem_of(answer)["code"]) == (415, "body_unusable")


def test_a_body_over_the_limit_is_a_413_announced_or_not(http: httpx.Client) -> None:
    chunk = b" " * 2**20
    headers = {"content-type": "application/json"}
    chunked = http.post("/v1/jobs", content=(chunk for _ in range(65)), headers=headers)
    announced = http.post("/v1/jobs", content=chunk * 65, headers=headers)
    for answer in (chunked, announced):
        assert (answer.status_code, problem_of(answer)["code"]) == (413, "body_unusable")


def test_wrong_fields_are_listed_by_pointer_without_their_values(http: httpx.Client) -> None:
    body = scripted_job(Path("/nowhere"), population={"size": 1, "sigmas": [0.001, -0.001]}, extra="a-secret")
    body["task"]["data"] = {"rows": ["a-secret"]}
    answer = http.post("/v1/jobs", json=body)
    assert answer.status_code == 422
    pointers = {row["pointer"] for row in problem_of(answer)["errors"]}
    assert pointers == {"/population/size", "/population/sigmas/1", "/extra", "/task/data/rows/0"}
    assert "a-secret" not in answer.text


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"model": "/nowhere"}, "model_missing"),
        ({"model": "./nowhere"}, "path_relative"),
        ({"model": "some/where/else"}, "path_relative"),
        ({"model": "/no\0where"}, "path_relative"),
        ({"verifier": {"kind": "oracle"}}, "verifier_unknown"),
        ({"verifier": {"kind": "exact", "threshold": 3}}, "verifier_invalid"),
        ({"data": {"path": "rows.jsonl"}}, "path_relative"),
        ({"data": {"path": "/nowhere/rows.jsonl"}}, "data_unusable"),
        ({"data": {"rows": []}}, "data_unusable"),
        ({"consolidate": {"operators": ["alchemy"]}}, "operator_invalid"),
    ],
)
def test_a_job_that_cannot_run_is_refused_before_it_is_queued(
    http: httpx.Client, tiny_llama: Path, change: dict[str, Any], code: str
) -> None:
    body = scripted_job(tiny_llama)
    for key, value in change.items():
        place = body["task"] if key in ("verifier", "data") else body
        place[key] = value
    before = http.get("/v1/jobs").json()
    answer = http.post("/v1/jobs", json=body)
    assert 400 <= answer.status_code < 500
    assert problem_of(answer)["code"] == code
    assert http.get("/v1/jobs").json() == before


def test_another_host_name_is_refused_so_that_dns_rebinding_fails(http: httpx.Client) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""):
        answer = http.get("/v1/jobs", headers={"host": host})
        assert answer.status_code in (400, 421)  # h11 itself refuses an empty one
    assert http.get("/v1/jobs", headers={"host": "localhost:1"}).status_code == 200


def test_the_server_is_ready_once_a_worker_lives(api: Service, http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "ok"}
    until(lambda: http.get("/readyz").status_code == 200)
    checks = http.get("/readyz").json()["checks"]
    assert {name: check["ok"] for name, check in checks.items()} == {
        "database": True,
        "disk": True,
        "worker": True,
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["name", "model", "task", "population", "consolidate", "engine", "gate", "export", "revision"]


# A busy machine draws these bodies slowly; that is no fault of theirs.
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES) | VALUES)
def test_no_json_body_makes_the_server_fail(fuzzed: httpx.Client, body: Any) -> None:
    answer = fuzzed.post("/v1/jobs", json=body)
    assert 400 <= answer.status_code < 500
    problem_of(answer)


@pytest.fixture(scope="module")
def fuzzed(api: Service) -> Iterator[httpx.Client]:
    with api.http as client:
        yield client
