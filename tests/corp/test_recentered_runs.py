"""Whole recentered runs on the pocket model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corp.run import execute
from population.direction import Direction
from tests.corp.jobs import ignore, never, pocket_job, pocket_spec

pytestmark = pytest.mark.slow

SPLITS = {"support": 200, "select": 200, "gate": 400, "test": 200}
MODES: dict[str, dict[str, Any]] = {
    "rounds": {"mode": "rounds", "rounds": 3},
    "anchored": {"mode": "rounds", "rounds": 2, "anchor": 0.2},
    "local": {"mode": "local", "rounds": 2, "population": 24},
}


def finished(pocket: Path, target: Path, mode: str) -> dict[str, Any]:
    spec = pocket_spec(
        pocket,
        task={**pocket_job(pocket)["task"], "splits": SPLITS},
        population={"size": 60, "sigmas": [0.01, 0.02], "seed": 3},
        consolidate={"operators": ["es"], "radii": [0.25, 0.5, 1]},
        gate={"proposals": 3},
        recenter=MODES[mode],
        controls={"enabled": False},
    )
    return execute(spec, target, folder=target.parent, emit=ignore, cancelled=never)


def stored(target: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((target / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("mode", MODES)
def test_a_recentered_pocket_job_is_accepted_and_ships_a_centre(
    pocket: Path, tmp_path: Path, mode: str
) -> None:
    report = finished(pocket, tmp_path / "run", mode)
    result = stored(tmp_path / "run", "recenter")
    assert report["outcome"] == "improved"
    assert report["test"]["gain"] > 0
    assert report["audit"]["tensors"] > 0
    assert result["accepted"] >= 1
    assert result["chosen"] == result["finalists"][0]
    recipe = stored(tmp_path / "run", "recipe")
    shipped = Direction.from_json({key: recipe[key] for key in ("components", "law", "step")})
    key = stored(tmp_path / "run", "gate")["key"]
    passed = next(row for row in result["finalists"] if row["key"] == key)
    assert shipped == Direction.from_json(passed["direction"])
    rounds = [path.name for path in sorted((tmp_path / "run").glob("recenter-*.json"))]
    assert len(rounds) == len(result["rounds"]) - 1 >= 1
    if mode == "rounds":
        assert len(stored(tmp_path / "run", "search")["rewards"]) == 20
    if mode == "anchored":
        moved = [found for found in result["rounds"] if found["accepted"]]
        assert all(found["key"].endswith("anchored") for found in moved)
