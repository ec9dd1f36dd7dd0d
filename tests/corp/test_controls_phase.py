"""The controls on the pocket model, against votes and likelihoods worked out again from what is stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corp.errors import Cancelled
from corp.run import execute
from population.checkpoint import Checkpoint
from population.engines.torch import TorchEngine
from population.store import ScoreStore
from tests.corp.jobs import ignore, never, pocket_job, pocket_spec

SUMS = (46, 60, 77, 99)
K = (2, 5)


def closed_rows() -> list[dict[str, str]]:
    """Every two-digit addition with one of four sums."""
    return [
        {"question": f"{a}+{total - a}=", "answer": f"{total:03d}"}
        for total in SUMS
        for a in range(10, 90)
        if 10 <= total - a <= 99
    ]


def sections(pocket: Path, **changes: Any) -> dict[str, Any]:
    """A job of a closed task that no gate would accept, so that it ends with the controls."""
    task = {
        **pocket_job(pocket)["task"],
        "data": {"rows": closed_rows()},
        "splits": {"support": 50, "select": 40, "gate": 40, "test": 60},
    }
    return {
        "task": task,
        "population": {"size": 9, "sigmas": [0.01, 0.02], "seed": 3},
        "consolidate": {
            "operators": ["reward_mean"],
            "q": [0.5],
            "beta": [10],
            "scales": [1, 2],
            "min_elites": 2,
        },
        "gate": {"alpha": 1e-12},
        "controls": {"k": list(K), "random": 2, "seed": 4},
        "engine": {"batch_size": 32, "threads": 1},
        **changes,
    }


def run(pocket: Path, target: Path, cancelled: Callable[[], bool] = never, **changes: Any) -> dict[str, Any]:
    spec = pocket_spec(pocket, **sections(pocket, **changes))
    execute(spec, target, folder=target.parent, emit=ignore, cancelled=cancelled)
    found: dict[str, Any] = json.loads((target / "controls.json").read_text())
    return found


@pytest.fixture(scope="module")
def finished(pocket: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("controls") / "run"
    run(pocket, target)
    return target


@pytest.fixture
def found(finished: Path) -> dict[str, Any]:
    controls: dict[str, Any] = json.loads((finished / "controls.json").read_text())
    return controls


@pytest.fixture
def store(finished: Path, pocket: Path) -> Any:
    import sqlite3

    with sqlite3.connect(finished / "scores.sqlite") as connection:
        (identity,) = connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
    connection.close()
    with ScoreStore.open(finished / "scores.sqlite", json.loads(identity)) as opened:
        yield opened


def golds(finished: Path) -> list[str]:
    spec = json.loads((finished / "spec.json").read_text())
    return [item["answer"] for item in spec["task"]["data"]["test"]["rows"]]


def rows_of(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in found["rows"]}


def counted(ballots: list[list[str]], gold: list[str]) -> tuple[int, int, int]:
    """Right answers of a vote by plain counting, best-ranked first; texts of this task are their answers."""
    right = []
    for prompt, answer in enumerate(gold):
        given = [texts[prompt].strip() for texts in ballots if texts[prompt].strip()]
        counts = Counter(given)
        best = [text for text in given if counts[text] == max(counts.values())][:1] or [""]
        right.append(best[0] == answer)
    return sum(right), len(right), len(ballots)


def test_every_row_is_there_with_its_cost(found: dict[str, Any]) -> None:
    rows = rows_of(found)
    assert list(rows) == [
        "base",
        "chosen",
        "random_mean-4",
        "random_mean-5",
        "top1",
        "vote-2",
        "vote-5",
        "self_consistency-2",
        "self_consistency-5",
        "label_likelihood",
    ]
    assert found["skipped"] == []
    assert {line["n"] for line in found["rows"]} == {found["n"]} == {60}
    assert [rows[name]["passes"] for name in ("base", "vote-5", "self_consistency-2")] == [1, 5, 2]
    assert rows["label_likelihood"]["passes"] == len(SUMS)
    for line in found["rows"]:
        assert line["base"] == rows["base"]["score"]
        assert line["difference"] == pytest.approx(line["score"] - line["base"])
        assert line["interval"][0] <= line["difference"] <= line["interval"][1]
        assert line["fixes"] - line["regressions"] == round(60 * line["difference"])


def test_votes_are_those_of_the_best_members_on_support(
    found: dict[str, Any], finished: Path, store: ScoreStore
) -> None:
    rewards = json.loads((finished / "search.json").read_text())["rewards"]
    best = sorted(range(9), key=lambda i: (-rewards[i], i))[:5]
    assert found["members"] == [f"c{index:05d}" for index in best]
    texts = [store.texts(key, "test") for key in found["members"]]
    gold, rows = golds(finished), rows_of(found)
    for k in K:
        right, n, _ = counted(texts[:k], gold)
        assert rows[f"vote-{k}"]["score"] == pytest.approx(right / n)
    assert rows["top1"]["score"] == pytest.approx(counted(texts[:1], gold)[0] / 60)
    assert 0.2 < rows["vote-5"]["score"] < 1
    tokens = [store.tokens(key, "test") for key in found["members"]]
    assert rows["vote-5"]["tokens"] == pytest.approx(sum(tokens) / 60)


def test_self_consistency_votes_over_differing_samples_of_the_base(
    found: dict[str, Any], finished: Path, store: ScoreStore
) -> None:
    texts = [store.texts(f"base~t0.7#{number}", "test") for number in range(5)]
    assert len({tuple(row) for row in [*texts, store.texts("base", "test")]}) == 6
    for k in K:
        right, n, _ = counted(texts[:k], golds(finished))
        assert rows_of(found)[f"self_consistency-{k}"]["score"] == pytest.approx(right / n)


def test_label_likelihood_is_that_of_the_engine_prompt_by_prompt(
    found: dict[str, Any], finished: Path, pocket: Path
) -> None:
    spec = json.loads((finished / "spec.json").read_text())
    labels = sorted(f"{total:03d}" for total in SUMS)
    engine = TorchEngine(Checkpoint.open(pocket), threads=1)
    likely: dict[str, list[list[float]]] = {}
    for split in ("support", "test"):
        prompts = [
            [{"role": "user", "content": item["question"]}] for item in spec["task"]["data"][split]["rows"]
        ]
        likely[split] = [
            [float(np.sum(engine.score([prompt], [label])[0], dtype=np.float64)) for prompt in prompts]  # type: ignore[list-item]
            for label in labels
        ]
    engine.close()
    prior = np.mean(likely["support"], axis=1)
    answers = [labels[index] for index in np.argmax(np.array(likely["test"]) - prior[:, None], axis=0)]
    right = np.mean([answer == gold for answer, gold in zip(answers, golds(finished), strict=True)])
    assert rows_of(found)["label_likelihood"]["score"] == pytest.approx(right)
    assert right > 0.5  # of four labels


def test_controls_stopped_anywhere_resume_to_the_same_table(
    finished: Path, pocket: Path, tmp_path: Path
) -> None:
    stops = 0
    for calls in (60, 9, 5, 7, 8, 6):
        left = iter(range(calls))
        try:
            run(pocket, tmp_path / "run", cancelled=lambda left=left: next(left, None) is None)
        except Cancelled:
            stops += (tmp_path / "run" / "gate.json").exists()
    assert stops >= 4  # in the controls, where else
    run(pocket, tmp_path / "run")
    assert (tmp_path / "run/controls.json").read_bytes() == (finished / "controls.json").read_bytes()


def test_nothing_chosen_and_no_signal_leave_what_can_be_had(pocket: Path, tmp_path: Path) -> None:
    task = {**sections(pocket)["task"], "verifier": {"kind": "exact", "field": "question"}}
    changes = {"task": task, "population": {"size": 4, "sigmas": [0.001]}, "controls": {"k": [2]}}
    found = run(pocket, tmp_path / "run", **changes)
    assert list(rows_of(found)) == ["base", "self_consistency-2"]
    reasons = {line["name"]: line["reason"] for line in found["skipped"]}
    assert set(reasons) == {"merges", "members", "label_likelihood"}
    assert "same reward" in reasons["members"]


def test_controls_can_be_left_out(pocket: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run(pocket, tmp_path / "run", controls={"enabled": False})
    assert (tmp_path / "run/report.json").exists()
