"""The loop of recentering on a model that is a formula."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corp.following import ess_target
from corp.gate.ledger import NAME as LEDGER
from corp.phases.finalists import finalists
from corp.phases.shortlist import support_halves
from corp.recentering import State, shares
from corp.spec import JobSpec
from population.direction import Direction, cosine, inner
from population.proposal import Candidate
from tests.corp.phases.simulated import Killed, Simulated, recentered, simulated, spec

GRID = {"operators": ["reward_mean"], "q": [0.5], "beta": [10], "scales": [1, 2, 4]}
STRENGTH = 0.2
ROUNDS = {"mode": "rounds", "rounds": 4, "patience": 4, "z": 0}
LOCAL = {"mode": "local", "population": 32, "patience": 3, "z": 0, "shortlist": 20}


def job(recenter: dict[str, Any], **sections: Any) -> JobSpec:
    return spec(recenter=recenter, **{"gate": {"proposals": 5}, "consolidate": GRID} | sections)


def files(target: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in target.glob("recenter*.json")}


def rounds_of(target: Path) -> list[dict[str, Any]]:
    count = len(list(target.glob("recenter-*.json")))
    return [json.loads((target / f"recenter-{n}.json").read_text()) for n in range(1, count + 1)]


@pytest.fixture(scope="module", params=["rounds", "local"])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    """A search that has something left to find after its first step."""
    recenter = {"rounds": ROUNDS, "local": LOCAL}[request.param]
    run = simulated(tmp_path_factory.mktemp("done"), job(recenter), strength=STRENGTH)
    recentered(run)
    return run


def test_the_centre_moves_and_each_move_is_better_on_select(done: Simulated) -> None:
    result = done.result("recenter")
    moves = [found for found in result["rounds"] if found["accepted"]]
    assert len(moves) >= 2, "this search is meant to move after its first step too"
    assert all(found["after"] > found["before"] for found in moves)
    assert all(later["before"] == earlier["after"] for earlier, later in pairwise(moves))
    assert result["chosen"]["select"] == moves[-1]["after"]


def test_finalists_are_the_centres_newest_first_then_the_searchs_own(done: Simulated) -> None:
    result, consolidated = done.result("recenter"), done.result("consolidate")
    keys = [found["key"] for found in result["rounds"] if found["accepted"]][::-1]
    rest = [row["key"] for row in consolidated["finalists"] if row["key"] not in keys]
    assert [row["key"] for row in result["finalists"]] == [*keys, *rest][:5]
    assert [candidate.key for candidate in finalists(done)] == [*keys, *rest][:5]
    for candidate in finalists(done)[: len(keys)]:
        assert candidate.direction is not None
        assert candidate.sigma == pytest.approx(candidate.direction.norm())


def test_states_carry_over_from_file_to_file(done: Simulated) -> None:
    found = rounds_of(done.target)
    states = [State.from_json(entry["state"]) for entry in found]
    assert [state.round for state in states] == list(range(1, len(found) + 1))
    for before, entry, after in zip(states, found[1:], states[1:], strict=False):
        assert entry["sigma"] == before.sigma
        assert (after.centre == before.centre) == (not entry["accepted"])
    last = states[-1].centre.direction
    assert last is not None
    assert last.to_json() == done.result("recenter")["chosen"]["direction"]


def members(run: Simulated) -> dict[str, Candidate]:
    """What was sampled, by key."""
    pattern = re.compile(r"(r\d-)?c\d{5}")
    return {key: c for (split, key), c in run.asked.items() if split == "support" and pattern.fullmatch(key)}


def test_every_population_has_noise_of_its_own(done: Simulated) -> None:
    own = [c.direction.components[-1].seed for c in members(done).values() if c.direction]
    sizes = {"rounds": 80, "local": 80 + 32 * (len(done.result("recenter")["rounds"]) - 1)}
    assert len(set(own)) == len(own) == sizes[done.prepared.spec.recenter.mode]


def test_rounds_spend_the_population_and_no_more(tmp_path: Path) -> None:
    run = simulated(tmp_path, job(ROUNDS), strength=STRENGTH)
    result = recentered(run)
    keys = list(members(run))
    sizes = [sum(key.startswith(f"r{n}-") for key in keys) for n in range(1, 4)]
    assert (len(keys) - sum(sizes), *sizes) == shares(80, 4)
    assert result["candidates"] == sum(sizes)


def test_the_centre_after_each_step_is_the_sum_pulled_by_the_anchor(tmp_path: Path) -> None:
    run = simulated(tmp_path, job(ROUNDS | {"anchor": 0.25}), strength=STRENGTH)
    result = recentered(run)
    moves = [found for found in result["rounds"] if found["accepted"]]
    assert len(moves) >= 2
    for found in moves:
        pulled = run.asked["select", found["key"]].direction
        summed = [c for (split, _), c in run.asked.items() if split == "select"]
        assert pulled is not None
        matches = [
            c.direction
            for c in summed
            if c.direction is not None
            and c.direction.norm() == pytest.approx(pulled.norm() / 0.75)
            and cosine(c.direction, pulled) == pytest.approx(1, abs=1e-12)
        ]
        assert len(matches) == 1
        assert found["found"] == run.answers("select", Candidate("", matches[0], 0)).mean()
        assert found["after"] == run.answers("select", Candidate("", pulled, 0)).mean()
        assert found["gain"] == pytest.approx(found["after"] - found["before"]), "the pulled one is compared"


def test_candidates_around_a_centre_that_stays_are_weighed_together(tmp_path: Path) -> None:
    """A centre that nothing beats: more populations around it are pooled."""
    run = simulated(tmp_path, job(ROUNDS | {"z": 10}), strength=0.05)
    result = recentered(run)
    assert not any(found["accepted"] for found in result["rounds"])
    assert [found["pooled"] for found in rounds_of(tmp_path)] == [40, 60, 80]
    assert all(found["since"] == 0 for found in rounds_of(tmp_path))
    assert result["finalists"] == run.result("consolidate")["finalists"][:5]


def test_a_local_search_has_nothing_to_follow_where_the_searchs_own_step_does_not_win(tmp_path: Path) -> None:
    run = simulated(tmp_path, job(LOCAL | {"z": 10}), strength=0.05)
    result = recentered(run)
    assert result["ended"] == "the search found no step to follow"
    assert rounds_of(tmp_path) == []
    assert result["finalists"] == run.result("consolidate")["finalists"][:5]


def test_a_local_population_leans_to_the_axes_with_the_energy_it_should_have(tmp_path: Path) -> None:
    run = simulated(tmp_path, job(LOCAL | {"population": 400, "rounds": 1}), strength=STRENGTH)
    recentered(run)
    found = rounds_of(tmp_path)[0]
    centre = next(c for (s, k), c in run.asked.items() if k == run.result("recenter")["rounds"][0]["key"])
    assert centre.direction is not None
    steps = [
        c.direction - centre.direction
        for key, c in members(run).items()
        if key.startswith("r1-") and c.direction
    ]
    assert len(steps) == 400
    own = np.array([step.coefficients()[step.components[-1].seed] for step in steps])
    norms = np.array([step.norm() for step in steps])
    np.testing.assert_allclose(own, found["sigma"] * np.sqrt(0.5), rtol=1e-9)
    assert np.mean(norms**2) == pytest.approx(found["sigma"] ** 2, rel=0.15)
    axes = {seed for step in steps for seed in step.coefficients()} - {s.components[-1].seed for s in steps}
    assert axes <= {c.direction.components[0].seed for c in run.population if c.direction} | set(
        centre.direction.coefficients()
    )
    first, second = steps[:2]
    assert abs(inner(first, second)) > 0, "they share axes"


def test_local_proposals_are_ranked_on_one_half_and_passed_on_the_other(tmp_path: Path) -> None:
    """Every tally is counted again from the answers to the half's prompts."""
    run = simulated(tmp_path, job(LOCAL | {"z": 1, "shortlist": 4}), strength=STRENGTH)
    recentered(run)
    halves = support_halves(run, 120)
    points = [c for (split, key), c in run.asked.items() if split == "support" and "@" in key]
    assert len(points) > 10
    for found, centre in zip(rounds_of(tmp_path), centres(run), strict=True):
        rows = found["points"]
        counted = {tallies(run, centre, point, halves) for point in points}
        places = [
            (-row["first"]["score"], row["first"]["regressions"] - row["first"]["fixes"]) for row in rows
        ]
        assert places == sorted(places)
        assert [("second" in row) for row in rows] == [n < 4 for n in range(len(rows))]
        for row in rows[:4]:
            told = (row["first"], row["second"])
            assert tuple((one["fixes"], one["regressions"]) for one in told) in counted
            for tally, half in zip(told, halves, strict=True):
                assert tally["n"] == len(half)
                assert tally["score"] == pytest.approx(
                    (tally["fixes"] - 2 * tally["regressions"]) / len(half)
                )
                assert tally["gain"] == pytest.approx((tally["fixes"] - tally["regressions"]) / len(half))
            held = row["second"]
            assert row["passed"] == (held["score"] > 0 and held["gain"] > held["standard_error"])
        first = next((row for row in rows if row.get("passed")), None)
        assert (first is not None) == ("gain" in found)


def centres(run: Simulated) -> list[Candidate]:
    """What each further round started from."""
    states = [State.from_json(found["state"]) for found in rounds_of(run.target)]
    first = run.asked["select", run.result("recenter")["rounds"][0]["key"]]
    return [first, *(state.centre for state in states[:-1])]


def tallies(run: Simulated, centre: Candidate, point: Candidate, halves: Any) -> tuple[tuple[int, int], ...]:
    """Fixes and regressions of a point on either half."""
    before, after = run.answers("support", centre), run.answers("support", point)
    return tuple(
        (int(np.sum(~before[half] & after[half])), int(np.sum(before[half] & ~after[half])))
        for half in halves
    )


class Forgetful(Simulated):
    """The first local population fails on the second half of support."""

    def answers(self, split: str, candidate: Candidate) -> Any:
        answers = super().answers(split, candidate)
        if split == "support" and candidate.key.startswith("r1-"):
            answers = answers.copy()
            answers[support_halves(self, len(answers))[1]] = False
        return answers


def test_nothing_that_shapes_a_local_proposal_reads_the_second_half_of_support(tmp_path: Path) -> None:
    one = simulated(tmp_path / "one", job(LOCAL | {"rounds": 1}), strength=STRENGTH)
    other = simulated(tmp_path / "other", job(LOCAL | {"rounds": 1}), strength=STRENGTH)
    other.__class__ = Forgetful
    recentered(one)
    recentered(other)
    assert rounds_of(one.target) == rounds_of(other.target)


def test_the_mean_of_a_local_population_has_the_rounds_effective_size(tmp_path: Path) -> None:
    run = simulated(tmp_path, job(LOCAL | {"population": 100, "z": 0}), strength=STRENGTH)
    recentered(run)
    rounds = rounds_of(tmp_path)
    assert len(rounds) >= 2
    for found in rounds:
        (why,) = (entry["why"] for entry in found["proposals"] if entry["operator"] == "constructive")
        expected = min(ess_target(found["round"], 3), why["helping"])
        assert why["ess"] == pytest.approx(expected, rel=0.02)


def test_rejected_local_rounds_halve_sigma_and_widen_until_patience_ends_them(tmp_path: Path) -> None:
    stubborn = LOCAL | {"z": 6, "patience": 3, "rounds": 5, "regress_weight": 50}
    run = simulated(tmp_path, job(stubborn), strength=STRENGTH)
    result = recentered(run)
    found = rounds_of(tmp_path)
    assert [entry["accepted"] for entry in found] == [False] * 3
    assert result["ended"] == "3 rounds in a row brought nothing"
    sigmas, iotas = ([entry[name] for entry in found] for name in ("sigma", "iota"))
    assert sigmas == [sigmas[0], sigmas[0] / 2, sigmas[0] / 4]
    assert iotas == sorted(iotas), "with regressions that dear no candidate helps, so it looks wider"


@pytest.mark.parametrize("recenter", [ROUNDS, LOCAL], ids=["rounds", "local"])
def test_killed_anywhere_it_resumes_to_the_same_files(recenter: dict[str, Any], tmp_path: Path) -> None:
    undisturbed = simulated(tmp_path / "whole", job(recenter), strength=STRENGTH)
    recentered(undisturbed)
    moments, store, kills = random.Random(1), {}, 0
    while True:
        again = simulated(
            tmp_path / "killed", job(recenter), strength=STRENGTH, left=moments.randint(1, 20), asked=store
        )
        try:
            recentered(again)
            break
        except Killed:
            kills += 1
    assert kills > 5
    assert store == undisturbed.asked
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_a_look_of_every_round_spends_its_share_and_can_refuse_the_step(tmp_path: Path) -> None:
    looking = {"proposals": 1, "looks": "rounds", "alpha": 0.08}
    run = simulated(tmp_path, job(ROUNDS, gate=looking), strength=STRENGTH)
    result = recentered(run)
    tried = [found for found in result["rounds"][1:] if found.get("gain", 0) > 0]
    looks = json.loads((tmp_path / LEDGER).read_text())["looks"]
    assert [look["name"] for look in looks] == [f"recenter-{found['round']}" for found in tried]
    assert all(look["level"] == pytest.approx(0.08 / 4) for look in looks)
    refused = [found for found in tried if not found["accepted"]]
    assert refused, "small gains on 200 prompts are not shown at this level"
    assert all("at the gate: " in found["reason"] for found in refused)
    assert job(ROUNDS, gate=looking).final_gate().alpha == pytest.approx(0.02)


def test_events_tell_each_round_once_even_after_a_resume(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []

    def emit(kind: str, data: Any) -> None:
        if kind == "recenter.round":
            told.append(dict(data))

    run = simulated(tmp_path, job(ROUNDS), strength=STRENGTH)
    run.emit = emit
    result = recentered(run)
    (tmp_path / "recenter.json").unlink()
    recentered(run)
    assert [event["round"] for event in told] == [found["round"] for found in result["rounds"][1:]]
    assert {"accepted", "sigma", "iota", "before", "after", "reason"} <= set(told[0])


def test_direction_of_the_chosen_is_ordinary_and_survives_json(done: Simulated) -> None:
    chosen = done.result("recenter")["chosen"]["direction"]
    direction = Direction.from_json(json.loads(json.dumps(chosen)))
    assert direction.to_json() == chosen
