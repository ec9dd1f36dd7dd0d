"""Which split each phase reads: support proposes, select chooses, the held-out ones are not touched."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from corp.phases.consolidate import consolidate_phase
from corp.phases.population import population_scores
from corp.phases.search import search_phase
from tests.corp.phases.simulated import Simulated, recentered, simulated, spec

OPERATORS = {"operators": ["reward_mean", "es", "greedy"], "q": [0.5], "beta": [10], "evaluations": 6}


@pytest.fixture
def run(tmp_path: Path) -> Simulated:
    made = simulated(tmp_path, spec(consolidate=OPERATORS))
    made._open["store"] = SimpleNamespace(digest=lambda: "the store's")
    return made


def test_the_population_is_scored_and_weighed_on_support(run: Simulated) -> None:
    result = run.phase("search", lambda: search_phase(run))
    assert result["rewards"] == [run.answers("support", one).mean() for one in run.population]
    scores = population_scores(run)
    assert scores.rewards.tolist() == result["rewards"]
    assert {split for split, _ in run.asked} == {"support"}


def test_steps_are_tried_on_select_and_nothing_else_is(run: Simulated) -> None:
    run.phase("search", lambda: {"dropped": []})
    result = run.phase("consolidate", lambda: consolidate_phase(run))
    tried = {key: one for (split, key), one in run.asked.items() if split == "select"}
    assert len(result["points"]) > 10
    for point in result["points"]:
        assert point["select"] == run.answers("select", tried[point["key"]]).mean()
    members = {one.key for one in run.population}
    assert {key for split, key in run.asked if split == "support"} == {"base", *members}
    assert not members & tried.keys()


@pytest.mark.parametrize("mode", ["rounds", "local"])
def test_recentering_without_looks_of_its_own_leaves_gate_and_test_alone(mode: str, tmp_path: Path) -> None:
    recenter: dict[str, Any] = {"mode": mode, "rounds": 2, "population": 16, "z": 0}
    run = simulated(tmp_path, spec(recenter=recenter, consolidate={"operators": ["es"]}))
    recentered(run)
    assert (tmp_path / "recenter-1.json").exists()
    assert {split for split, _ in run.asked} == {"support", "select"}
    assert not (tmp_path / "gate-use.json").exists()
