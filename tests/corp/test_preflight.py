"""Bad input is refused by name before any model is loaded, and nothing is written."""

from __future__ import annotations

import json
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from corp.errors import DiskFull, OperatorInvalid, SpecInvalid
from corp.preflight import assemble, claim, open_run
from corp.run import prepare
from corp.spec import load_spec, parse
from population.errors import DirectionInvalid, ModelMissing, ModelUnsupported, PopulationInvalid
from tests.corp.jobs import pocket_job, pocket_spec
from verify.errors import (
    CorpError,
    DataUnusable,
    SplitOverlap,
    TooFewRows,
    VerifierRejected,
    VerifierUnknown,
)


def refused(job: dict[str, Any], folder: Path) -> str:
    with pytest.raises(CorpError) as caught:
        prepare(parse(job, "job"), folder)
    assert not list(folder.iterdir()), "a refused job must leave nothing behind"
    return type(caught.value).__name__


def test_missing_model(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="nowhere"):
        prepare(pocket_spec(tmp_path / "nowhere"), tmp_path)


@pytest.mark.parametrize("change", ["auto_map", "quantization_config"])
def test_models_we_must_not_run(pocket: Path, tmp_path: Path, change: str) -> None:
    model = shutil.copytree(pocket, tmp_path / "model")
    config = json.loads((model / "config.json").read_text())
    value = {"AutoModelForCausalLM": "code.Model"} if change == "auto_map" else {"quant_method": "awq"}
    (model / "config.json").write_text(json.dumps(config | {change: value}))
    with pytest.raises(ModelUnsupported):
        prepare(pocket_spec(model), tmp_path)


def task(pocket: Path, **changes: Any) -> dict[str, Any]:
    return {**pocket_job(pocket), "task": {**pocket_job(pocket)["task"], **changes}}


SMALL = {"support": 2, "select": 2, "gate": 2, "test": 2}
ROWS = [{"question": f"{i}+1=", "answer": str(i + 1)} for i in range(8)]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"verifier": {"kind": "exakt"}}, VerifierUnknown),
        ({"verifier": {"kind": "exact", "field": "absent"}}, VerifierRejected),
        ({"data": {"rows": []}, "splits": SMALL}, DataUnusable),
        ({"data": {"rows": ROWS[:7]}, "splits": SMALL}, TooFewRows),
        ({"data": {"rows": [{"q": 1}] * 8}, "splits": SMALL}, DataUnusable),
        ({"data": {"path": "absent.jsonl"}}, DataUnusable),
        (
            {"data": {name: {"rows": ROWS[i : i + 2]} for i, name in enumerate(SMALL)}, "splits": SMALL},
            SplitOverlap,
        ),
    ],
)
def test_tasks_that_cannot_be_scored(
    pocket: Path, tmp_path: Path, changes: dict[str, Any], error: type[CorpError]
) -> None:
    assert refused(task(pocket, **changes), tmp_path) == error.__name__


@pytest.mark.parametrize(
    ("section", "values", "error"),
    [
        ("population", {"size": 1}, SpecInvalid),
        ("population", {"sigmas": [0.01, 0.0]}, SpecInvalid),
        ("population", {"sigmas": [0.01, -1.0]}, SpecInvalid),
        ("population", {"sigmas": []}, SpecInvalid),
        ("population", {"sigmas": [float("nan")]}, SpecInvalid),
        ("population", {"size": 2, "sigmas": [0.1, 0.2, 0.3]}, PopulationInvalid),
        ("population", {"scope": ["no.such.tensor"]}, DirectionInvalid),
        ("consolidate", {"operators": ["alchemy"]}, OperatorInvalid),
        ("consolidate", {"q": [1.0]}, SpecInvalid),
        ("engine", {"device": "tpu"}, SpecInvalid),
        ("populations", {"size": 4}, SpecInvalid),
    ],
)
def test_searches_that_make_no_sense(
    pocket: Path, tmp_path: Path, section: str, values: dict[str, Any], error: type[CorpError]
) -> None:
    assert refused({**pocket_job(pocket), section: values}, tmp_path) == error.__name__


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"engine": {"device": "cuda"}}, "sees no GPU"),
        ({"engine": {"compute": "bfloat16"}}, "cannot be computed with as bfloat16"),
        ({"max_new_tokens": 64}, "task.max_new_tokens is 64; the model's context has 64 tokens"),
    ],
)
def test_what_no_engine_can_do_is_refused_before_work(
    pocket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    job = task(pocket, **change) if "max_new_tokens" in change else {**pocket_job(pocket), **change}
    with pytest.raises(ModelUnsupported, match=message):
        prepare(parse(job, "job"), tmp_path)


def test_spec_file_that_is_not_yaml(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("model: [unclosed")
    with pytest.raises(SpecInvalid, match=r"job\.yaml is not valid YAML"):
        load_spec(tmp_path / "job.yaml")


def test_error_names_field_but_not_its_value(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid, match=r"engine\.device") as caught:
        parse({"model": "m", "task": {}, "engine": {"device": "hunter2"}}, "job")
    assert "hunter2" not in str(caught.value)


def test_too_little_disk_is_named_before_work(
    pocket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 1000, 1000))
    prepared = assemble(pocket_spec(pocket), tmp_path)
    claim(tmp_path / "run")
    with pytest.raises(DiskFull, match="needs"):
        open_run(prepared, tmp_path / "run")


def test_scales_that_would_share_a_key_are_refused_at_once(pocket: Path) -> None:
    for scales in ([1, 1], [1, 1.00000001]):
        with pytest.raises(SpecInvalid, match=r"consolidate\.scales"):
            parse({**pocket_job(pocket), "consolidate": {"scales": scales}}, "job")


@pytest.mark.parametrize(
    "section",
    [
        {"consolidate": {"operators": ["greedy"], "radii": [0.5, 0.5]}},  # greedy tries them by direction
        {"consolidate": {"operators": ["es", "es"]}},
        {"calibrate": {"levels": [1, 1.0001]}},  # one sigma, once it is rounded
    ],
)
def test_repeats_are_refused_before_the_search_that_they_would_end(
    pocket: Path, section: dict[str, Any]
) -> None:
    with pytest.raises(SpecInvalid, match="names a value twice"):
        parse({**pocket_job(pocket), **section}, "job")


def test_too_few_elites_are_refused_before_the_search_unless_the_operator_needs_none(pocket: Path) -> None:
    few = {"size": 14, "sigmas": [0.01]}
    with pytest.raises(SpecInvalid, match=r"population of 14 leaves corp 7 elites at q = 0\.5"):
        assemble(pocket_spec(pocket, population=few, consolidate={"operators": ["es", "corp"]}), Path("."))
    for population, operators in ((few, ["es"]), ({**few, "size": 15}, ["corp"])):
        spec = pocket_spec(pocket, population=population, consolidate={"operators": operators})
        assemble(spec, Path(".")).task.close()


@pytest.mark.parametrize(("rounds", "proposals"), [(5, 1), (3, 2)])
def test_looks_that_the_level_does_not_cover_are_refused(pocket: Path, rounds: int, proposals: int) -> None:
    gate = {"looks": "rounds", "proposals": proposals}
    recenter = {"mode": "rounds", "rounds": rounds}
    with pytest.raises(SpecInvalid, match="at most three rounds after the search and one proposal"):
        parse({**pocket_job(pocket), "gate": gate, "recenter": recenter}, "job")
    parse(
        {**pocket_job(pocket), "gate": gate | {"proposals": 1}, "recenter": recenter | {"rounds": 4}}, "job"
    )
