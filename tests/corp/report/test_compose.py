"""report.json: what outside readers count on, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corp.errors import OutputUnusable, RunChanged, RunMissing
from corp.report import build_report
from tests.corp.report.rundir import phases, write_run


def test_the_fields_that_others_read_are_there(tmp_path: Path) -> None:
    report = build_report(write_run(tmp_path / "run"))
    found = phases(accepted=True)
    assert report["outcome"] == "improved"
    assert report["splits"] == found["preflight"]["splits"]
    assert report["gate"].items() >= found["gate"]["decision"].items()
    assert report["test"] == found["gate"]["test"]
    assert report["recipe"] == found["export"]["recipe"]
    assert report["checkpoint"] == "checkpoint"
    assert report["sample"] == found["gate"]["sample"]
    assert report["audit"] == found["audit"]
    assert report["support"]["best"] == max(found["search"]["rewards"])
    assert report["select"] == {
        "n": 40,
        "base": 0.45,
        "candidate": 0.625,
        "key": "corp-0@1.0",
        "evaluations": 6,
    }
    assert report["controls"] == found["controls"]


def test_directions_and_task_rows_stay_out_of_it(tmp_path: Path) -> None:
    text = json.dumps(build_report(write_run(tmp_path / "run")))
    assert "secret row" not in text
    assert "components" not in text


def test_operators_are_listed_with_their_best_point(tmp_path: Path) -> None:
    report = build_report(write_run(tmp_path / "run"))
    rows = report["consolidation"]["operators"]
    assert [(row["operator"], row["directions"], row["points"]) for row in rows] == [
        ("corp", 1, 3),
        ("es", 1, 3),
    ]
    assert [row["best"]["select"] for row in rows] == [0.625, 0.625]


@pytest.mark.parametrize(
    ("stop", "pending"),
    [
        ("baseline", ["baseline", "search", "consolidate", "controls", "diagnostics"]),
        ("gate", ["gate", "controls", "diagnostics"]),
        ("diagnostics", ["diagnostics", "export", "audit"]),
        ("audit", ["audit"]),
    ],
)
def test_pending_phases_are_named(tmp_path: Path, stop: str, pending: list[str]) -> None:
    report = build_report(write_run(tmp_path / "run", stop=stop))
    assert report["pending"] == pending
    assert f"still to come: {', '.join(pending)}" in report["reason"]


def test_a_directory_without_a_run_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(RunMissing, match=r"no spec\.json"):
        build_report(tmp_path)
    with pytest.raises(RunMissing):
        build_report(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_phase_is_named(tmp_path: Path) -> None:
    target = write_run(tmp_path / "run")
    (target / "gate.json").write_text('{"accepted": tr')
    with pytest.raises(RunChanged, match=r"gate\.json is damaged.*remove it to repeat phase gate"):
        build_report(target)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("diagnostics", "[" * 100_000),
        ("diagnostics", '{"a":' * 5000 + "1" + "}" * 5000),
        ("diagnostics", '{"support": {"n": NaN}}'),
        ("diagnostics", '{"support": {"n": 1e999}}'),
        ("diagnostics", "{}"),
        ("diagnostics", '{"support": {"points": 3}}'),
        ("consolidate", '{"points": [{"proposal": 7}], "proposals": [], "chosen": null}'),
        ("gate", '{"accepted": true, "decision": "<script>"}'),
        ("samples", '{"pairs": [{}]}'),
        ("samples", '{"other": 1}'),
        ("spec", '{"name": 3}'),
    ],
)
def test_results_that_no_phase_writes_are_refused_in_one_line(
    tmp_path: Path, name: str, content: str
) -> None:
    target = write_run(tmp_path / "run")
    (target / f"{name}.json").write_text(content)
    with pytest.raises(RunChanged):
        build_report(target)
    assert not (target / "report.html").exists()


def test_a_page_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    target = write_run(tmp_path / "run")
    with pytest.raises(OutputUnusable, match="cannot be written"):
        build_report(target, tmp_path / "nowhere" / "page.html")
    page = tmp_path / "page.html"
    build_report(target, page)
    assert page.read_text().startswith("<!doctype html>")
    assert not (target / "report.html").exists()
