"""The whole pipeline on the pocket model, and what happens when it is disturbed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from corp.errors import Cancelled, OutputUnusable, RunChanged
from corp.lock import locked
from corp.run import execute
from corp.spec import JobSpec
from tests.corp.jobs import ignore, never, pocket_job, pocket_spec


def run(spec: JobSpec, target: Path, cancelled: Callable[[], bool] = never) -> dict[str, Any]:
    return execute(spec, target, folder=target.parent, emit=ignore, cancelled=cancelled)


@pytest.fixture(scope="module")
def finished(pocket: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("finished") / "run"
    run(pocket_spec(pocket), target)
    return target


def report_of(target: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((target / "report.json").read_text())
    return report


def test_pocket_job_is_accepted_with_a_real_gain(finished: Path) -> None:
    report = report_of(finished)
    assert report["outcome"] == "improved"
    assert report["gate"]["p_value"] <= 0.05
    assert report["gate"]["interval"][0] > 0
    assert report["gate"]["fixes"] > report["gate"]["regressions"]
    assert report["test"]["gain"] > 0


def test_null_candidate_scores_as_the_base(finished: Path) -> None:
    baseline = json.loads((finished / "baseline.json").read_text())
    assert baseline["null_differs"] == 0
    assert baseline["null"] == baseline["base"]


def test_sweep_makes_one_pass_over_the_elites_noise(finished: Path) -> None:
    consolidated = json.loads((finished / "consolidate.json").read_text())
    elites = max(row["elites"] for row in consolidated["proposals"])
    perturbed = json.loads((finished / "preflight.json").read_text())["perturbed"]
    assert consolidated["noise_passes"] == 1
    assert consolidated["noise_values"] == elites * perturbed
    assert not (finished / "sweep.scratch").exists()


def test_finished_run_is_not_repeated(finished: Path) -> None:
    def fail() -> bool:
        raise AssertionError("a finished run must not reach a block boundary")

    spec = JobSpec.model_validate_json((finished / "spec.json").read_text())
    before = (finished / "report.json").read_bytes()
    run(spec, finished, cancelled=fail)
    assert (finished / "report.json").read_bytes() == before


def test_same_spec_gives_the_same_recipe_to_the_byte(finished: Path, pocket: Path, tmp_path: Path) -> None:
    run(pocket_spec(pocket), tmp_path / "again")
    assert (tmp_path / "again/recipe.json").read_bytes() == (finished / "recipe.json").read_bytes()
    assert scores(tmp_path / "again") == scores(finished)


def scores(target: Path) -> str:
    digest: str = json.loads((target / "search.json").read_text())["scores_digest"]
    return digest


def test_stopped_run_resumes_to_the_same_scores_and_recipe(
    finished: Path, pocket: Path, tmp_path: Path
) -> None:
    for blocks in (9, 60, 64, 8, 1):  # twice in the search, then in the line search and the gate
        with pytest.raises(Cancelled):
            run(pocket_spec(pocket), tmp_path / "run", cancelled=countdown(blocks))
    run(pocket_spec(pocket), tmp_path / "run")
    assert (tmp_path / "run/recipe.json").read_bytes() == (finished / "recipe.json").read_bytes()
    assert scores(tmp_path / "run") == scores(finished)


def countdown(calls: int) -> Callable[[], bool]:
    left = iter(range(calls))
    return lambda: next(left, None) is None


def test_equal_rewards_abstain_for_want_of_signal(pocket: Path, tmp_path: Path) -> None:
    task = {**pocket_job(pocket)["task"], "verifier": {"kind": "exact", "field": "question"}}
    small = {"support": 20, "select": 20, "gate": 40, "test": 20}
    spec = pocket_spec(pocket, task={**task, "splits": small}, population={"size": 4, "sigmas": [0.01]})
    report = run(spec, tmp_path / "run")
    assert report["outcome"] == "no_improvement"
    assert "have the same reward, 0 – use a larger sigma" in report["reason"]
    assert report["gate"] is None
    assert not (tmp_path / "run/checkpoint").exists()


def test_reward_by_chance_abstains(pocket: Path, tmp_path: Path) -> None:
    task = {**pocket_job(pocket)["task"], "verifier": {"kind": "random", "seed": 1}}
    spec = pocket_spec(pocket, task=task, population={"size": 24, "sigmas": [0.01, 0.02]})
    report = run(spec, tmp_path / "run")
    assert report["outcome"] == "no_improvement"
    assert report["checkpoint"] is None


def test_resume_with_another_spec_is_refused_with_the_difference(
    finished: Path, pocket: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished, tmp_path / "run")
    changed = pocket_spec(pocket, population={"size": 60, "sigmas": [0.005, 0.01, 0.02], "seed": 3})
    with pytest.raises(RunChanged, match=r"population\.size: 120 → 60"):
        run(changed, tmp_path / "run")


def test_directory_with_other_files_is_refused_and_left_alone(pocket: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputUnusable, match="not empty"):
        run(pocket_spec(pocket), tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_second_process_in_one_run_directory_is_refused(finished: Path, pocket: Path) -> None:
    with locked(finished), pytest.raises(OutputUnusable, match="another process"):
        run(pocket_spec(pocket), finished)


def test_a_base_that_never_succeeds_is_warned_of_before_the_search(pocket: Path, tmp_path: Path) -> None:
    task = {**pocket_job(pocket)["task"], "verifier": {"kind": "exact", "field": "question"}}
    small = {"support": 8, "select": 8, "gate": 30, "test": 8}
    spec = pocket_spec(pocket, task={**task, "splits": small}, population={"size": 2, "sigmas": [0.01]})
    events: list[tuple[str, str]] = []

    def emit(event: str, data: Mapping[str, object]) -> None:
        events.append((event, str(data.get("message", data.get("phase", "")))))

    execute(spec, tmp_path / "run", folder=tmp_path, emit=emit, cancelled=never)
    warned = next(i for i, (_, text) in enumerate(events) if text.startswith("warning: the base's"))
    assert warned < events.index(("phase.started", "search"))
