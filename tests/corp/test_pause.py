"""A run whose verifier breaks: it pauses with the reason, and goes on when the verifier is mended."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from corp import pause
from corp.errors import Cancelled, Paused
from corp.run import execute
from corp.spec import JobSpec
from tests.corp.jobs import never, pocket_job, pocket_spec
from verify.kinds.exact import Exact
from verify.kinds.kind import Grade, Ungradable
from verify.task import load_task
from verify.verdict import Fault, Item

SIZES = {"support": 40, "select": 40, "gate": 60, "test": 40}


class Weather:
    """The verifier `exact` cannot judge rows whose question starts with `broken`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broken = ""
        grade = Exact.grade

        def judged(kind: Exact, item: Item, completion: str) -> Grade:
            if self.broken and str(item["question"]).startswith(self.broken):
                raise Ungradable(Fault.TIMEOUT, "stopped after 1 s")
            return grade(kind, item, completion)

        monkeypatch.setattr(Exact, "grade", judged)


@pytest.fixture
def weather(monkeypatch: pytest.MonkeyPatch) -> Weather:
    return Weather(monkeypatch)


class Events(list[tuple[str, Mapping[str, object]]]):
    def __call__(self, kind: str, data: Mapping[str, object]) -> None:
        self.append((kind, dict(data)))

    def of(self, kind: str) -> list[Mapping[str, object]]:
        return [data for name, data in self if name == kind]


def job(pocket: Path, **sections: Any) -> JobSpec:
    base = pocket_job(pocket)
    plain = {
        "task": {**base["task"], "splits": SIZES},
        "population": {"size": 12, "sigmas": [0.01, 0.02], "seed": 3},
        "engine": {"batch_size": 20, "threads": 1},
    }
    return pocket_spec(pocket, **plain | sections)


def run(spec: JobSpec, target: Path, events: Events | None = None) -> dict[str, Any]:
    emit = Events() if events is None else events
    return execute(spec, target, folder=target.parent, emit=emit, cancelled=never)


def results(target: Path) -> dict[str, Any]:
    names = ("baseline", "search", "consolidate")
    return {name: json.loads((target / f"{name}.json").read_text()) for name in names}


def test_a_run_pauses_with_the_reason_and_ends_like_one_that_did_not(
    pocket: Path, tmp_path: Path, weather: Weather, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = job(pocket)
    run(spec, tmp_path / "whole")
    target = tmp_path / "run"
    breaks_in(monkeypatch, weather, "search")
    events = Events()
    with pytest.raises(Paused, match=r"timeout: stopped after 1 s – put the verifier right"):
        run(spec, target, events)
    (told,) = events.of("scoring.paused")
    assert (told["phase"], told["task"], told["split"]) == ("search", "addition", "support")
    assert (told["error"], told["detail"]) == ("timeout", "stopped after 1 s")
    assert told["count"] == told["invalid"]
    assert 0 < int(str(told["invalid"])) < int(str(told["verdicts"])) < 12 * 40  # before all was scored
    assert json.loads((target / pause.NAME).read_text()) == told
    assert not (target / "search.json").exists()

    events = Events()
    with pytest.raises(Paused):  # nothing was mended: paused again, at once
        run(spec, target, events)
    assert events.of("scoring.paused")[0]["invalid"] == told["invalid"]

    weather.broken = ""
    assert run(spec, target)["outcome"] in ("improved", "no_improvement")
    assert not (target / pause.NAME).exists()
    assert results(target) == results(tmp_path / "whole")


def breaks_in(monkeypatch: pytest.MonkeyPatch, weather: Weather, phase: str) -> None:
    """The verifier breaks when that phase starts; once."""
    from corp.phases.run import Run

    score, left = Run.score, ["9"]

    def scored(self: Run, name: str, *args: Any, **options: Any) -> Any:
        if name == phase and left:
            weather.broken = left.pop()
        return score(self, name, *args, **options)

    monkeypatch.setattr(Run, "score", scored)


def test_few_failures_do_not_pause_and_a_stopped_run_ends_like_one_that_was_not(
    pocket: Path, tmp_path: Path, weather: Weather
) -> None:
    """One row of a hundred cannot be judged, by any candidate."""
    spec = job(pocket, task={**pocket_job(pocket)["task"], "splits": {**SIZES, "support": 100}})
    row = load_task(spec.task, tmp_path).splits["support"][7]
    weather.broken = row["question"]
    run(spec, tmp_path / "whole")
    left = iter(range(25))  # into the search
    with pytest.raises(Cancelled):
        execute(
            spec, tmp_path / "run", folder=tmp_path, emit=Events(), cancelled=lambda: next(left, None) is None
        )
    assert not (tmp_path / "run/search.json").exists()
    assert pause.NAME not in [path.name for path in (tmp_path / "run").iterdir()]
    run(spec, tmp_path / "run")
    assert results(tmp_path / "run") == results(tmp_path / "whole")
    assert unjudged(tmp_path / "run") == 12 + 1 + 1 + 2  # candidates, base, null and two more orders


def unjudged(target: Path) -> int:
    with closing(sqlite3.connect(target / "scores.sqlite")) as connection:
        rows = connection.execute("SELECT valid FROM block WHERE split = 'support'").fetchall()
    return sum(valid.count(0) for (valid,) in rows)


@pytest.mark.slow
def test_a_guard_pauses_in_its_own_folder(
    pocket: Path, tmp_path: Path, weather: Weather, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard's verdicts break at the gate; the job's own do not."""
    base = pocket_job(pocket)
    guard = {
        "task": {
            **base["task"],
            "name": "copies",
            "data": {"generator": "addition", "seed": 5},
            "splits": {"support": 1, "select": 1, "gate": 400, "test": 1},
        },
        "margin": 0.2,
    }
    sections = {**{k: base[k] for k in ("task", "population", "consolidate")}, "gate": {"guards": [guard]}}
    sections["task"] = {**base["task"], "splits": {"support": 200, "select": 200, "gate": 600, "test": 40}}
    sections["population"] = {"size": 60, "sigmas": [0.005, 0.01, 0.02], "seed": 3}
    spec = pocket_spec(pocket, **sections, engine={"batch_size": 200, "threads": 1})
    target = tmp_path / "run"
    from corp.phases import guards

    results_of = guards.guard_results

    def breaks(*args: Any) -> Any:
        weather.broken = "9" if not (target / "guard-0" / pause.NAME).exists() else ""
        return results_of(*args)

    monkeypatch.setattr("corp.phases.look.guard_results", breaks)
    events = Events()
    with pytest.raises(Paused):
        run(spec, target, events)
    (told,) = events.of("scoring.paused")
    assert (told["phase"], told["task"], told["split"]) == ("gate", "copies", "gate")
    assert not (target / pause.NAME).exists()
    assert (target / "guard-0" / pause.NAME).exists()
    report = run(spec, target)
    assert not (target / "guard-0" / pause.NAME).exists()
    assert report["gate"]["proposals"][0]["guards"] or report["outcome"] == "improved"


def test_a_pause_is_of_one_split_and_gone_with_its_scoring(tmp_path: Path) -> None:
    error = Paused("few", hint="mend", folder=tmp_path, facts={"split": "gate", "phase": "gate"})
    pause.note(error)
    assert pause.on(tmp_path, "gate")
    assert not pause.on(tmp_path, "support")
    pause.lift(tmp_path, "support")
    assert pause.on(tmp_path, "gate")
    pause.lift(tmp_path, "gate")
    assert not pause.on(tmp_path, "gate")
    pause.lift(tmp_path, "gate")


@pytest.mark.parametrize("content", ["", "[]", "{", '{"split": 3}', "\x00"])
def test_a_record_that_makes_no_sense_is_no_pause(tmp_path: Path, content: str) -> None:
    (tmp_path / pause.NAME).write_text(content)
    assert not pause.on(tmp_path, "support")
