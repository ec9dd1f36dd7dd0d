"""Diagnostics of real runs on the pocket model: beside the result, never part of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from corp.report import build_report
from corp.run import execute
from population.direction import Direction
from tests.corp.jobs import ignore, never, pocket_job, pocket_spec
from tests.corp.report.reading import at, numbers, read

BEFORE = ("preflight", "baseline", "search", "consolidate", "gate")


def small(pocket: Path, **task: Any) -> Any:
    splits = {"support": 80, "select": 80, "gate": 200, "test": 80}
    return pocket_spec(
        pocket,
        task={**pocket_job(pocket)["task"], "splits": splits, **task},
        population={"size": 32, "sigmas": [0.005, 0.01], "seed": 3},
        controls={"enabled": False},
    )


def run(spec: Any, target: Path) -> dict[str, Any]:
    return execute(spec, target, folder=target.parent, emit=ignore, cancelled=never)


def content(target: Path, name: str) -> Any:
    return json.loads((target / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def finished(pocket: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("diagnosed") / "run"
    run(small(pocket), target)
    return target


@pytest.mark.slow
def test_repeating_the_phase_changes_nothing(finished: Path, pocket: Path) -> None:
    names = [f"{name}.json" for name in (*BEFORE, "diagnostics", "samples", "report")] + ["report.html"]
    before = {name: (finished / name).read_bytes() for name in names}
    for name in ("diagnostics.json", "samples.json", "report.json", "report.html"):
        (finished / name).unlink()
    run(small(pocket), finished)
    assert before == {name: (finished / name).read_bytes() for name in names}


@pytest.mark.slow
def test_the_composition_adds_up_to_the_splits_counts(finished: Path) -> None:
    found, gate = content(finished, "diagnostics")["composition"], content(finished, "gate")
    shown = gate["test"] if gate["accepted"] else gate["decision"]
    assert found["split"] == ("test" if gate["accepted"] else "gate")
    assert found["reasoning_fix"] + found["format_fix"] + found["unclear_fix"] == shown["fixes"]
    assert (found["regression"], found["n"]) == (shown["regressions"], shown["n"])
    pairs = content(finished, "samples")["pairs"]
    assert len(pairs) == found["samples"]["shown"] == min(200, found["n"])
    for pair in pairs:
        fixed = not pair["base_passed"] and pair["merged_passed"]
        assert (pair["shown"] == "fix") == fixed
        assert pair["merged_passed"] == (pair["merged"] == pair["expected"])


@pytest.mark.slow
def test_the_intended_length_is_the_directions(finished: Path) -> None:
    gate, overall = content(finished, "gate"), content(finished, "diagnostics")["rounding"]["overall"]
    row = next(row for row in content(finished, "consolidate")["finalists"] if row["key"] == gate["key"])
    expected = Direction.from_json(row["direction"]).norm() * math.sqrt(overall["weights"])
    assert overall["intended"] == pytest.approx(expected, rel=0.02)
    assert overall["gain"] == pytest.approx(1, abs=1e-3)  # stored in float32


@pytest.mark.slow
def test_the_real_runs_page_says_what_its_report_says(finished: Path) -> None:
    report = build_report(finished)
    found = numbers(read((finished / "report.html").read_text()))
    assert len(found) > 100
    for path, (value, _) in found.items():
        assert value == at(report, path)


@pytest.mark.slow
def test_a_run_without_signal_is_diagnosed_as_far_as_it_goes(pocket: Path, tmp_path: Path) -> None:
    report = run(small(pocket, verifier={"kind": "exact", "field": "question"}), tmp_path / "run")
    assert report["outcome"] == "no_improvement"
    assert report["pending"] == []
    found = report["diagnostics"]
    assert found["skipped"].keys() == {"consensus", "rounding", "composition"}
    assert found["support"]["reliability"]["overall"] == 0.0
    assert found["support"]["luck"]["expected_best"] == 0.0
