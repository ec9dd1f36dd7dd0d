"""Recentering that could not work is refused before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corp.errors import SpecInvalid
from corp.preflight import assemble
from corp.spec import parse
from tests.corp.jobs import pocket_job


def job(pocket: Path, recenter: dict[str, Any], **sections: Any) -> dict[str, Any]:
    consolidate = {"operators": ["reward_mean"], "q": [0.5], "beta": [10], "scales": [2]}
    return {**pocket_job(pocket), "consolidate": consolidate, **sections, "recenter": recenter}


@pytest.mark.parametrize(
    ("recenter", "complaint"),
    [
        ({"mode": "rounds", "rounds": 16}, "recenter.rounds = 16 leaves 7 of 120 candidates to a round"),
        ({"mode": "sometimes"}, "recenter.mode"),
        ({"anchor": 1.0}, "recenter.anchor"),
        ({"anchor": -0.1}, "recenter.anchor"),
        ({"z": float("nan")}, "recenter.z"),
        ({"iota": 0.0}, "recenter.iota"),
        ({"population": 4}, "recenter.population"),
        ({"rounds": 0}, "recenter.rounds"),
        ({"patience": 0}, "recenter.patience"),
        ({"shortlist": 0}, "recenter.shortlist"),
        ({"temperature": 1}, "recenter.temperature"),
    ],
)
def test_sections_that_make_no_sense(pocket: Path, recenter: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SpecInvalid, match=complaint):
        parse(job(pocket, recenter), "job")


def test_a_round_has_a_candidate_for_every_level_of_sigma(pocket: Path) -> None:
    many = {"size": 40, "sigmas": [0.001 * n for n in range(1, 13)]}
    with pytest.raises(SpecInvalid, match="at least 12 are needed"):
        parse(job(pocket, {"mode": "rounds", "rounds": 4}, population=many), "job")


def test_rounds_that_leave_too_few_elites_are_refused(pocket: Path, tmp_path: Path) -> None:
    spec = parse(job(pocket, {"mode": "rounds", "rounds": 10}), "job")
    with pytest.raises(SpecInvalid, match=r"population of 12 leaves reward_mean 6 elites at q = 0\.5"):
        assemble(spec, tmp_path)
    local = parse(job(pocket, {"mode": "local", "population": 10}), "job")
    with pytest.raises(SpecInvalid, match="a population of 10"):
        assemble(local, tmp_path)
    es = {"operators": ["es"]}
    assemble(parse(job(pocket, {"mode": "rounds", "rounds": 10}, consolidate=es), "job"), tmp_path).close()


@pytest.mark.parametrize("name", ["ties", "dare"])
def test_merges_have_no_centre_to_go_on_from(pocket: Path, tmp_path: Path, name: str) -> None:
    spec = parse(job(pocket, {"mode": "rounds"}, consolidate={"operators": ["es", name]}), "job")
    with pytest.raises(SpecInvalid, match=f"no step can be added to what {name} makes"):
        assemble(spec, tmp_path)


def test_the_search_scores_the_first_rounds_share(pocket: Path) -> None:
    rounds = parse(job(pocket, {"mode": "rounds", "rounds": 7}), "job")
    assert rounds.searched() == 18
    assert parse(job(pocket, {"mode": "local", "rounds": 7}), "job").searched() == 120
    assert parse(job(pocket, {"rounds": 7}), "job").searched() == 120
    assert [
        parse(job(pocket, {"mode": m}), "job").recenter.further() for m in ("off", "local", "rounds")
    ] == [0, 3, 2]
