"""Calibration and screening inside a run of the pocket model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from corp.calibration import TOLERANCE
from corp.errors import CalibrationFailed, Cancelled, RunChanged, SpecInvalid
from corp.phases.baseline import baseline_phase
from corp.phases.calibrate import calibrate_phase
from corp.phases.gauge import Gauge
from corp.phases.population import population_scores
from corp.phases.run import Run
from corp.phases.search import search_phase
from corp.preflight import assemble, claim, open_run
from corp.spec import JobSpec
from population.displacement import Displacement, Reference, probe
from population.errors import PopulationInvalid
from population.proposal import BASE, Candidate, candidate_seed
from population.store import ScoreStore
from tests.corp.jobs import TASKS, ignore, never, pocket_job, pocket_spec

SPLITS = {"support": 40, "select": 10, "gate": 30, "test": 10}


def small(pocket: Path, **sections: Any) -> JobSpec:
    """Nine candidates, σ to be calibrated on 24 prompts with three probes."""
    task = {**pocket_job(pocket)["task"], "splits": SPLITS}
    defaults = {
        "population": {"size": 9, "seed": 5},
        "calibrate": {"target": 0.05, "prompts": 24, "probes": 3},
        "engine": {"batch_size": 40, "threads": 1},
    }
    return pocket_spec(pocket, task=task, **(defaults | sections))


@contextmanager
def opened(spec: JobSpec, target: Path, **options: Any) -> Iterator[Run]:
    """A run of ``spec``, new or found in ``target``, with its baseline."""
    prepared = assemble(spec, TASKS)
    claim(target)
    run = Run(
        prepared=open_run(prepared, target),
        target=target,
        emit=options.get("emit", ignore),
        cancelled=options.get("cancelled", never),
    )
    try:
        run.phase("baseline", lambda: baseline_phase(run))
        yield run
    finally:
        run.close()


def through_search(run: Run) -> None:
    run.phase("calibrate", lambda: calibrate_phase(run))
    run.phase("search", lambda: search_phase(run))


@pytest.fixture(scope="module")
def finished(pocket: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with calibrated σ up to its search, not to be changed."""
    target = tmp_path_factory.mktemp("calibrated") / "run"
    with opened(small(pocket), target) as run:
        through_search(run)
    return target


def test_the_sigma_found_moves_fresh_probes_by_the_target(pocket: Path, finished: Path) -> None:
    found = json.loads((finished / "calibrate.json").read_text())
    assert found["kl"] == pytest.approx(0.05, rel=TOLERANCE + 0.01)
    last = found["probes"][-1]
    assert last["sigma"] == found["sigma"]
    assert sorted(last["kl"])[1] == last["median"] == found["kl"]
    with opened(small(pocket), finished) as run:  # measured once more, by other means than the phase
        task = run.prepared.task
        items, answers = task.splits["support"][:24], run.store.texts(BASE.key, "support")[:24]
        reference = Reference(run.engine, [task.messages(item) for item in items], answers, 8)
        for index, (kl, hidden) in enumerate(zip(last["kl"], last["hidden"], strict=True)):
            run.engine.set_weights(probe(index, found["sigma"], 5, run.prepared.law).direction)
            assert reference.displacement(run.engine) == Displacement(kl, hidden)


def test_the_population_is_sampled_at_the_calibrated_levels(pocket: Path, finished: Path) -> None:
    found = json.loads((finished / "calibrate.json").read_text())
    sigma = found["sigma"]
    assert found["sigmas"] == pytest.approx([0.6 * sigma, sigma, 1.6 * sigma], rel=1e-3)
    with opened(small(pocket), finished) as run:
        assert [candidate.sigma for candidate in run.sampled] == found["sigmas"] * 3
        components = [c.direction.components[0] for c in run.sampled if c.direction is not None]
        assert [component.seed for component in components] == [candidate_seed(5, i) for i in range(9)]
        assert population_scores(run).keys == tuple(candidate.key for candidate in run.population)
        assert len(run.population) == 9 - len(run.result("search")["dropped"])


def test_larger_levels_move_the_model_further(finished: Path) -> None:
    search = json.loads((finished / "search.json").read_text())
    kls = search["screened"]["kl"]
    assert len(kls) == 9
    assert search["screened"]["prompts"] == 16
    means = [sum(kls[level::3]) / 3 for level in range(3)]
    assert means == sorted(means)
    assert 1.5 < means[1] / means[0] < 6  # (1 / 0.6)^2 = 2.8 without noise


class Killed(BaseException):
    """A process that dies."""


@pytest.mark.parametrize("after", [0, 4, 12])
def test_a_run_that_dies_repeats_at_most_one_displacement(
    after: int, pocket: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, keep = Gauge._measure, ScoreStore.put_displacement
    measured: list[str] = []

    def counted(self: Gauge, engine: Any, candidate: Candidate) -> Displacement:
        measured.append(candidate.key)
        return measure(self, engine, candidate)

    def dying(self: ScoreStore, candidate: str, prompts: int, found: Displacement) -> None:
        if len(measured) > after:
            raise Killed
        keep(self, candidate, prompts, found)

    monkeypatch.setattr(Gauge, "_measure", counted)
    monkeypatch.setattr(ScoreStore, "put_displacement", dying)
    with opened(small(pocket), tmp_path / "run") as run, pytest.raises(Killed):
        through_search(run)
    monkeypatch.setattr(ScoreStore, "put_displacement", keep)
    with opened(small(pocket), tmp_path / "run") as run:
        through_search(run)
    assert sorted(measured) == sorted([*set(measured), measured[after]])
    for name in ("calibrate.json", "search.json"):
        assert (tmp_path / "run" / name).read_bytes() == (finished / name).read_bytes()


def test_a_run_asked_to_stop_stops_between_two_displacements(pocket: Path, tmp_path: Path) -> None:
    asked: list[bool] = []

    def cancelled() -> bool:
        asked.append(True)
        return len(asked) > 10

    with (
        opened(small(pocket), tmp_path / "run", cancelled=cancelled) as run,
        pytest.raises(Cancelled, match="displacements"),
    ):
        through_search(run)
    with opened(small(pocket), tmp_path / "run") as run:
        through_search(run)
        assert run.finished("search")


def far_out(keys: Mapping[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Multiply the displacements of some candidates."""
    measure = Gauge._measure

    def exaggerated(self: Gauge, engine: Any, candidate: Candidate) -> Displacement:
        found = measure(self, engine, candidate)
        return Displacement(found.kl * keys.get(candidate.key, 1.0), found.hidden)

    monkeypatch.setattr(Gauge, "_measure", exaggerated)


def test_outliers_are_listed_and_never_answer(
    pocket: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far_out({"c00004": 100.0, "c00006": float("inf")}, monkeypatch)
    said: list[str] = []
    with opened(
        small(pocket), tmp_path / "run", emit=lambda kind, data: said.append(str(data.get("message", "")))
    ) as run:
        through_search(run)
        search, before = run.result("search"), json.loads((finished / "search.json").read_text())
        assert [entry["key"] for entry in search["dropped"]] == ["c00004", "c00006"]
        measured, broken = search["dropped"]
        assert measured["kl"] == pytest.approx(100 * before["screened"]["kl"][4])
        assert measured["kl"] > 4 * measured["median"]
        assert broken["kl"] is None
        assert run.store.blocks("c00004", "support") == run.store.blocks("c00006", "support") == {}
        kept = [candidate.key for candidate in run.population]
        assert kept == [f"c{index:05d}" for index in (0, 1, 2, 3, 5, 7, 8)]
        assert population_scores(run).keys == tuple(kept)
        assert search["rewards"] == [r for i, r in enumerate(before["rewards"]) if i not in (4, 6)]
        assert len(search["sigmas"]) == 7
    assert any("2 candidates dropped" in message for message in said)


def test_outliers_are_kept_where_the_spec_says_so(
    pocket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far_out({"c00004": 100.0}, monkeypatch)
    spec = small(pocket, calibrate={"target": 0.05, "prompts": 24, "probes": 1, "outliers": None})
    with opened(spec, tmp_path / "run") as run:
        through_search(run)
        assert run.result("search")["dropped"] == []
        assert len(run.population) == 9


def test_a_population_that_only_breaks_the_model_is_refused(
    pocket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far_out({f"c{index:05d}": float("inf") for index in range(8)}, monkeypatch)
    with opened(small(pocket), tmp_path / "run") as run:
        run.phase("calibrate", lambda: calibrate_phase(run))
        with pytest.raises(CalibrationFailed, match="8 of 9 candidates break the model"):
            search_phase(run)


def test_stated_sigmas_are_neither_calibrated_nor_screened(pocket: Path, tmp_path: Path) -> None:
    spec = small(pocket, population={"size": 4, "sigmas": [0.01, 0.02]})
    with opened(spec, tmp_path / "run") as run:
        run.phase("search", lambda: search_phase(run))
        assert run.result("search")["dropped"] == []
        assert "screened" not in run.result("search")
        assert [candidate.sigma for candidate in run.population] == [0.01, 0.02] * 2


def test_the_population_is_unknown_before_calibration_and_before_the_search(
    pocket: Path, tmp_path: Path
) -> None:
    with opened(small(pocket), tmp_path / "run") as run:
        with pytest.raises(RunChanged, match=r"calibrate\.json"):
            _ = run.sampled
        run.phase("calibrate", lambda: calibrate_phase(run))
        assert len(run.sampled) == 9
        with pytest.raises(RunChanged, match=r"search\.json"):
            _ = run.population


def test_a_target_out_of_reach_is_a_named_error(pocket: Path, tmp_path: Path) -> None:
    """The last norm alone: noise in it rescales the logits but soon cannot turn an answer any further."""
    spec = small(
        pocket,
        population={"size": 6, "scope": ["model.layers.0.input_layernorm.weight"]},
        calibrate={"target": 9.9, "prompts": 4, "probes": 1},
    )
    with (
        opened(spec, tmp_path / "run") as run,
        pytest.raises(CalibrationFailed, match=r"9\.9 nats per token"),
    ):
        calibrate_phase(run)


def test_the_default_is_to_calibrate_and_preflight_says_so(pocket: Path) -> None:
    prepared = assemble(small(pocket, calibrate={"target": 0.1}), TASKS)
    prepared.close()
    assert prepared.spec.population.sigmas == "auto"
    assert (
        prepared.facts()["sigmas"]
        == "3 levels, calibrated after the baseline to 0.1 nats of KL per answer token"
    )
    stated = assemble(small(pocket, population={"size": 4, "sigmas": [0.01]}), TASKS)
    stated.close()
    assert stated.facts()["sigmas"] == [0.01]


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"population": {"sigmas": "automatic"}}, r"population\.sigmas: should be 'auto'"),
        ({"population": {"sigmas": 0.01}}, r"population\.sigmas: should be a list"),
        ({"population": {"scale": "sharp"}}, r"population\.scale: .*'isotropic', 'rms' or 'modular'"),
        ({"calibrate": {"target": 0}}, r"calibrate\.target: should be greater than 0"),
        ({"calibrate": {"probes": 0}}, r"calibrate\.probes"),
        ({"calibrate": {"levels": []}}, r"calibrate\.levels: should have at least 1 entries"),
        ({"calibrate": {"levels": [1, 1.0]}}, r"calibrate\.levels names a value twice"),
        ({"calibrate": {"outliers": 0.5}}, r"calibrate\.outliers: should be greater than 1"),
    ],
)
def test_bad_fields_are_named(sections: dict[str, Any], message: str, pocket: Path) -> None:
    with pytest.raises(SpecInvalid, match=message):
        small(pocket, **sections)


def test_a_population_smaller_than_its_levels_is_refused_before_the_run(pocket: Path) -> None:
    with pytest.raises(PopulationInvalid, match="3 sigmas for 2 candidates"):
        assemble(small(pocket, population={"size": 2}), TASKS)
