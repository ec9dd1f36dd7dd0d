"""What the gate phase makes of scores: who is accepted, what is recorded, what is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corp.errors import GateInvalid, GateSpent
from corp.gate.guard import Guarded
from corp.gate.ledger import NAME
from corp.phases.finalists import chosen_candidate, finalists
from corp.phases.gate import gate_phase, look
from corp.phases.look import remaining
from population.proposal import Candidate
from tests.corp.gate.runs import (
    FIRST,
    SECOND,
    THIRD,
    N,
    candidate,
    evidence,
    fake_run,
    guarded,
    guards,
    right,
    row,
)

__all__ = ["evidence", "guards"]

BETTER = {"base": right(10), "first": right(30)}
LUCKY = {"base": right(10), "first": right(14)}  # four fixes: p = 0.125


def test_base_and_candidate_are_compared_on_the_gate_and_test_is_opened_only_then(
    tmp_path: Path, evidence: dict[str, Any]
) -> None:
    run = fake_run(tmp_path, {"gate": BETTER, "test": BETTER})
    result = gate_phase(run)
    assert result["accepted"]
    assert (result["key"], result["winner"], result["weights"]) == ("first", "first", "digest")
    assert (result["base"], result["candidate"]) == (0.25, 0.75)
    assert result["test"]["gain"] == 0.5
    splits = [split for split, _ in run.asked]
    assert splits[0] == "gate"
    assert splits[-1] == "test"
    json.dumps(result, allow_nan=False)


def test_a_gain_that_may_be_luck_is_turned_down_and_test_stays_closed(tmp_path: Path) -> None:
    run = fake_run(tmp_path, {"gate": LUCKY})
    result = gate_phase(run)
    assert not result["accepted"]
    assert result["winner"] is None
    assert result["decision"]["reason"].startswith("Abstained, the gain may be luck")
    assert run.asked == [("gate", ["base", "first"])]


def test_the_level_is_the_specs(tmp_path: Path, evidence: dict[str, Any]) -> None:
    assert gate_phase(fake_run(tmp_path, {"gate": LUCKY, "test": LUCKY}, alpha=0.2))["accepted"]


def test_the_papers_policy_accepts_what_strict_does_not(tmp_path: Path, evidence: dict[str, Any]) -> None:
    result = gate_phase(fake_run(tmp_path, {"gate": LUCKY, "test": LUCKY}, policy="paper"))
    assert result["accepted"]
    assert result["method"] == "one standard error of the mean difference"


def test_a_shaped_value_passes_no_gate(tmp_path: Path, evidence: dict[str, Any]) -> None:
    """Every value rises, some above the largest that passes, and not one prompt more is passed."""
    shaped = {"base": [0.2, 1.0] * 20, "first": [1.1, 1.0] * 20}
    result = gate_phase(fake_run(tmp_path, {"gate": shaped}))
    assert not result["accepted"]
    assert (result["base"], result["candidate"], result["decision"]["gain"]) == (0.5, 0.5, 0.0)


def test_what_passes_is_accepted_whatever_its_value(tmp_path: Path, evidence: dict[str, Any]) -> None:
    """Values fall on average while more prompts pass."""
    shaped = {"base": [0.9] * 30 + [1.0] * 10, "first": [1.0] * 20 + [0.0] * 10 + [1.0] * 10}
    result = gate_phase(fake_run(tmp_path, {"gate": shaped, "test": shaped}))
    assert result["accepted"]
    assert (result["base"], result["candidate"]) == (0.25, 0.75)
    assert evidence["success"] == (True,) * 20 + (False,) * 10 + (True,) * 10
    assert result["test"]["gain"] == 0.5


def test_several_samples_of_a_prompt_are_one_observation(tmp_path: Path, evidence: dict[str, Any]) -> None:
    """Four copies of four lucky fixes stay four: as prompts of their own they would have p = 3e-5."""
    copies = {f"{key}~gate0.7#{i}": values for key, values in LUCKY.items() for i in range(4)}
    run = fake_run(tmp_path, {"gate": LUCKY | copies}, samples=4)
    result = gate_phase(run)
    assert not result["accepted"]
    assert (result["decision"]["n"], result["decision"]["p_value"]) == (N, 0.125)
    assert [keys for _, keys in run.asked] == [[f"{key}~gate0.7#{i}" for i in range(4)] for key in LUCKY]
    assert {draws.temperature for draws in run.drawn} == {0.7}

    # A prompt counts with the samples that could be judged, and drops out where there is none.
    half = {f"{key}~gate0.5#{i}": right(10 + 20 * i * (key == "first")) for key in LUCKY for i in range(2)}
    valid = {f"first~gate0.5#{i}": [i == 0] + [True] * (N - 2) + [False] for i in range(2)}
    scores = {"gate": BETTER | half, "test": BETTER}
    (tmp_path / "half").mkdir()
    run = fake_run(tmp_path / "half", scores, valid=valid, samples=2, temperature=0.5)
    result = gate_phase(run)
    assert result["accepted"]
    assert result["method"].startswith("paired sign-flip")
    assert result["decision"]["n"] == N - 1
    assert result["decision"]["gain"] == pytest.approx(0.5 * 20 / (N - 1))
    assert evidence["texts"][0] == "first 0"


def test_prompts_that_one_of_the_two_was_not_judged_on_are_left_out(
    tmp_path: Path, evidence: dict[str, Any]
) -> None:
    valid = {"base": [False] + [True] * (N - 1), "first": [True] * (N - 1) + [False]}
    run = fake_run(
        tmp_path, {"gate": {"base": right(0), "first": right(N)}, "test": BETTER}, valid=valid, alpha=0.2
    )
    result = gate_phase(run)
    assert (result["decision"]["n"], result["decision"]["fixes"]) == (N - 2, N - 2)
    assert result["sample"] == {"messages": [{"question": "1"}], "base": "base 1", "candidate": "first 1"}
    assert evidence["valid"] == (True,) * (N - 1) + (False,)


def test_the_evidence_holds_the_winners_scores(tmp_path: Path, evidence: dict[str, Any]) -> None:
    scores = {"base": right(10), "first": right(10), "second": right(30)}
    run = fake_run(tmp_path, {"gate": scores, "test": scores}, [FIRST, SECOND], proposals=2)
    assert gate_phase(run)["key"] == "second"
    assert evidence["values"] == tuple(right(30))
    assert evidence["texts"][0] == "second 0"
    assert evidence["path"] == tmp_path / "gate-evidence.json"


def test_of_several_accepted_the_first_registered_wins_though_another_gained_more(
    tmp_path: Path, evidence: dict[str, Any]
) -> None:
    scores = {"base": right(10), "first": right(10), "second": right(25), "third": right(40)}
    run = fake_run(tmp_path, {"gate": scores, "test": scores}, [FIRST, SECOND, THIRD], proposals=3)
    result = gate_phase(run)
    assert [one["accepted"] for one in result["proposals"]] == [False, True, True]
    assert result["winner"] == "second"
    run.results["gate"] = result
    assert chosen_candidate(run) == SECOND


def test_levels_are_split_over_the_proposals(tmp_path: Path) -> None:
    """Six fixes have p = 0.031: enough for one proposal, not for two."""
    scores = {"base": right(10), "first": right(16), "second": right(10)}
    assert gate_phase_accepts(tmp_path / "one", {"gate": scores, "test": scores}, [FIRST])
    assert not gate_phase_accepts(tmp_path / "two", {"gate": scores}, [FIRST, SECOND])


def gate_phase_accepts(target: Path, scores: Any, registered: list[Any]) -> bool:
    target.mkdir()
    run = fake_run(target, scores, registered, proposals=len(registered))
    return look(run, "gate", registered, 0.05)["winner"] is not None


def test_a_fallen_guard_vetoes_and_the_next_accepted_one_is_tried(
    tmp_path: Path, evidence: dict[str, Any], guards: dict[str, list[Guarded]]
) -> None:
    scores = {"base": right(10), "first": right(40), "second": right(30)}
    guards["first"] = [guarded("copying", True), guarded("counting", False)]
    guards["second"] = [guarded("copying", True), guarded("counting", True)]
    run = fake_run(tmp_path, {"gate": scores, "test": scores}, [FIRST, SECOND], proposals=2)
    result = gate_phase(run)
    assert result["winner"] == "second"
    veto = result["proposals"][0]
    assert not veto["accepted"]
    assert "guard counting may have fallen: -2.0 points with lower bound -4.0" in veto["decision"]["reason"]
    assert [one["held"] for one in veto["guards"]] == [True, False]


def test_guards_are_held_at_alpha_over_the_proposals_and_not_asked_about_what_comes_behind_the_winner(
    tmp_path: Path, evidence: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, float]] = []

    def held(_: object, one: Candidate, level: float) -> list[Guarded]:
        asked.append((one.key, level))
        return [guarded("copying", one.key != "first")]

    monkeypatch.setattr("corp.phases.look.guard_results", held)
    scores = {"base": right(10), "first": right(40), "second": right(30), "third": right(40)}
    run = fake_run(
        tmp_path, {"gate": scores, "test": scores}, [FIRST, SECOND, THIRD], proposals=3, alpha=0.06
    )
    assert gate_phase(run)["winner"] == "second"
    assert asked == [("first", pytest.approx(0.02)), ("second", pytest.approx(0.02))]


def test_guards_are_not_asked_about_what_the_gate_turned_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> list[Guarded]:
        raise AssertionError

    monkeypatch.setattr("corp.phases.look.guard_results", fail)
    assert not gate_phase(fake_run(tmp_path, {"gate": LUCKY}))["accepted"]


def test_the_use_is_on_the_disk_before_the_first_prompt_is_scored(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def die(split: str) -> None:
        book = json.loads((tmp_path / NAME).read_text())
        assert book["looks"] == [
            {"name": "gate", "round": 1, "level": 0.05, "candidates": {"first": FIRST.direction.digest()}}
        ]
        raise Killed

    scores = {"gate": {**LUCKY, "second": right(40)}, "test": LUCKY}
    with pytest.raises(Killed):
        gate_phase(fake_run(tmp_path, scores, before_scoring=die))
    before = (tmp_path / NAME).read_bytes()
    assert not gate_phase(fake_run(tmp_path, scores))["accepted"]  # the same look goes on
    assert (tmp_path / NAME).read_bytes() == before
    run = fake_run(tmp_path, scores, [SECOND])
    with pytest.raises(GateSpent, match=r"used in look gate for first .* now it is asked about second"):
        gate_phase(run)
    assert run.asked == []


def test_another_step_along_the_same_direction_is_another_candidate(tmp_path: Path) -> None:
    gate_phase(fake_run(tmp_path, {"gate": LUCKY}))
    with pytest.raises(GateSpent):
        gate_phase(fake_run(tmp_path, {"gate": LUCKY}, [candidate("first", 9)]))


def test_rounds_spend_their_share_and_leave_the_rest_to_the_final_look(tmp_path: Path) -> None:
    run = fake_run(tmp_path, {"gate": {**LUCKY, "second": right(11)}})
    look(run, "round 1", [FIRST], 0.02)
    look(run, "round 2", [SECOND], 0.02, centre=FIRST)
    assert run.asked == [("gate", ["base", "first"]), ("gate", ["first", "second"])]
    assert remaining(run) == pytest.approx(0.01)
    assert gate_phase(run)["decision"]["level"] == pytest.approx(0.01)
    with pytest.raises(GateSpent, match=r"asks for level 0\.02; 3 looks .* have spent 0\.05 of 0\.05"):
        look(run, "round 3", [SECOND], 0.02)


def test_more_than_five_or_no_candidate_are_refused_and_not_recorded(tmp_path: Path) -> None:
    run = fake_run(tmp_path, {"gate": BETTER})
    for registered in ([], [candidate(f"c{i}", i) for i in range(6)]):
        with pytest.raises(GateInvalid):
            look(run, "gate", registered, 0.05)
    assert not (tmp_path / NAME).exists()


def test_finalists_are_recenterings_where_it_found_any(tmp_path: Path) -> None:
    run = fake_run(tmp_path, {"gate": BETTER}, [FIRST, SECOND, THIRD], proposals=2)
    assert finalists(run) == [FIRST, SECOND]
    run.results["recenter"] = {"finalists": [row(THIRD)]}
    assert finalists(run) == [THIRD]
    run.results["recenter"] = {"finalists": []}
    assert finalists(run) == [FIRST, SECOND]
