"""``corp report`` on run directories of every kind."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from server.command import corp
from tests.corp.report.rundir import write_run


def call(*arguments: str) -> Result:
    return CliRunner().invoke(corp, ["report", *arguments])


def test_the_verdict_is_printed_and_both_reports_are_written(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    done = call(str(run))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.split()[0] == "IMPROVED"
    assert str(run / "report.html") in done.stdout
    assert json.loads((run / "report.json").read_text())["outcome"] == "improved"
    assert (run / "report.html").exists()


def test_json_is_the_report_and_where_the_page_is(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    page = tmp_path / "elsewhere.html"
    done = call(str(run), "--json", "--html", str(page))
    found = json.loads(done.stdout)
    assert found["html"] == str(page)
    assert page.exists()
    assert found.items() >= json.loads((run / "report.json").read_text()).items()


def test_an_unfinished_run_is_reported_as_far_as_it_has_come(tmp_path: Path) -> None:
    done = call(str(write_run(tmp_path / "run", stop="gate")))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.split()[0] == "UNFINISHED"
    assert "still to come: gate, controls, diagnostics" in done.stdout


def test_a_directory_that_is_no_run_is_refused_in_one_line(tmp_path: Path) -> None:
    done = call(str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr.startswith("error [run_missing]: ")
    assert done.stderr.count("\n") == 1
