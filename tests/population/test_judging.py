"""Rewards that are log-probabilities, scored by the engine, against transformers' own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from population.checkpoint import Checkpoint
from population.engines.torch import TorchEngine
from population.errors import EngineIncapable, ScoringStopped, VerdictsInvalid
from population.proposal import BASE, isotropic, null_candidate
from population.scoring import score
from population.store import ScoreStore
from tests.population.engines.test_conformance import log_probabilities, reference
from tests.population.test_scoring import IDENTITY, LAW, HashEngine, Stop
from verify.task import Task, load_task, parse_task

COUNTS = {"support": 40, "select": 3, "gate": 3, "test": 3}
SUM = {"kind": "logprob", "reduce": "sum"}


def addition(verifier: dict[str, Any], **changes: Any) -> Task:
    """The pocket model's task; rows hold the right sum and three wrong ones."""
    rows = []
    for n in range(60):
        first, second = (7 * n + 11) % 100, (13 * n + 5) % 100
        options = [f"{first + second + off:03d}" for off in (7, 0, 1, 10)]
        rows.append({"question": f"{first:02d}+{second:02d}=", "answer": options[1], "options": options})
    spec = {
        "name": "addition",
        "data": {"rows": rows},
        "prompt": {"user": "{question}"},
        "verifier": verifier,
        "splits": COUNTS,
        "max_new_tokens": 4,
        "pass_threshold": -1.0,
        **changes,
    }
    return load_task(parse_task(spec), Path())


@pytest.fixture(scope="module")
def engine(pocket: Path) -> Any:
    opened = TorchEngine(Checkpoint.open(pocket), batch_size=16, threads=1)
    yield opened
    opened.close()


def told(model: Any, pocket: Path, task: Task, index: int, text: str) -> list[float]:
    """transformers' log-probabilities of a text after a support prompt."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(pocket, local_files_only=True)
    (message,) = task.messages(task.splits["support"][index])
    row = tokenizer(message["content"])["input_ids"]
    return log_probabilities(model, row, tokenizer(text, add_special_tokens=False)["input_ids"])


def test_the_value_is_the_models_log_probability_of_the_gold_answer(
    engine: Any, pocket: Path, tmp_path: Path
) -> None:
    task = addition(SUM)
    (member,) = isotropic(2, (0.02,), 1, LAW)[:1]
    with ScoreStore.open(tmp_path / "s", dict(engine.identity)) as store:
        table = score(engine, task, "support", [BASE, member], store, block_size=16)
        assert store.tokens("base", "support") == 0
        assert set(store.texts("base", "support")) == {""}
    for line, direction in enumerate((None, member.direction)):
        model = reference(pocket, direction)
        for index, item in enumerate(task.splits["support"][:8]):
            expected = sum(told(model, pocket, task, index, item["answer"]))
            assert table.values[line, index] == pytest.approx(expected, abs=1e-3)
    assert table.success.tolist() == (table.values >= -1.0).tolist()
    assert 0 < table.success[0].mean() < 1


def test_success_is_the_likeliest_of_the_rows_choices(engine: Any, pocket: Path, tmp_path: Path) -> None:
    task = addition({"kind": "logprob", "choices": "options"}, pass_threshold=1.0)
    with ScoreStore.open(tmp_path / "s", dict(engine.identity)) as store:
        table = score(engine, task, "support", [BASE], store, block_size=16)
        texts = store.texts("base", "support")
    model = reference(pocket, None)
    for index, item in enumerate(task.splits["support"][:8]):
        chances = {text: np.mean(told(model, pocket, task, index, text)) for text in item["options"]}
        likeliest = max(chances, key=chances.__getitem__)
        assert texts[index] == likeliest
        assert table.success[0, index] == (likeliest == item["answer"])
        assert table.values[0, index] == pytest.approx(chances[item["answer"]], abs=1e-3)
    assert table.success[0].tolist() == [
        text == item["answer"] for text, item in zip(texts, task.splits["support"], strict=True)
    ]
    assert 0 < table.success[0].mean() < 1


def test_mixed_adds_the_log_probability_to_the_verdict_on_the_generated_answer(
    engine: Any, tmp_path: Path
) -> None:
    tables = {}
    for name, verifier in (
        ("exact", {"kind": "exact"}),
        ("logprob", {"kind": "logprob"}),
        ("mixed", {"kind": "mixed", "verifier": {"kind": "exact"}, "weight": 0.5}),
    ):
        with ScoreStore.open(tmp_path / name, dict(engine.identity)) as store:
            task = addition(verifier, pass_threshold=-1.0 if name == "logprob" else 1.0)
            tables[name] = score(engine, task, "support", [BASE], store, block_size=16)
            if name == "mixed":
                assert store.tokens("base", "support") > 0
    expected = tables["exact"].values + 0.5 * tables["logprob"].values
    np.testing.assert_array_equal(tables["mixed"].values, expected)
    np.testing.assert_array_equal(tables["mixed"].success, tables["exact"].success)
    assert 0 < tables["exact"].success.mean() < 1


@pytest.mark.parametrize("verifier", [SUM, {"kind": "mixed", "verifier": {"kind": "exact"}}])
def test_a_stopped_search_resumes_to_the_same_table(
    engine: Any, tmp_path: Path, verifier: dict[str, Any]
) -> None:
    task = addition(verifier)
    scored = (BASE, null_candidate(LAW), *isotropic(2, (0.02,), 1, LAW))
    digests = []
    for name, stops in (("whole", ()), ("cut", (1, 4))):
        with ScoreStore.open(tmp_path / name, dict(engine.identity)) as store:
            for after in stops:
                with pytest.raises(ScoringStopped):
                    score(engine, task, "support", scored, store, block_size=16, cancelled=Stop(after))
            table = score(engine, task, "support", scored, store, block_size=16)
            digests.append(store.digest())
    assert digests[0] == digests[1]
    np.testing.assert_array_equal(table.values[0], table.values[1])
    assert len({row.tobytes() for row in table.values}) == 3


def test_another_batch_order_changes_a_value_by_rounding_alone(engine: Any, tmp_path: Path) -> None:
    task = addition(SUM)
    with ScoreStore.open(tmp_path / "s", dict(engine.identity)) as store:
        usual = score(engine, task, "support", [BASE], store, block_size=16)
        other = type(BASE)("base~order1", None, 0.0)
        again = score(engine, task, "support", [other], store, block_size=16, order=1)
    np.testing.assert_allclose(again.values, usual.values, atol=1e-4)


def test_what_mixed_could_not_judge_is_scored_again(engine: Any, tmp_path: Path) -> None:
    """Log-probabilities are not stored: the engine gives them once more, and the answer is the same text."""
    task = addition({"kind": "mixed", "verifier": {"kind": "regex", "pattern": r"^\d+$", "timeout": 1.0}})
    inner = task.verifier.inner  # type: ignore[attr-defined]
    ask = inner._child.ask

    def broken(question: Any, timeout: float) -> Any:
        raise OSError("no more processes")

    with ScoreStore.open(tmp_path / "s", dict(engine.identity)) as store:
        inner._child.ask = broken
        with pytest.raises(VerdictsInvalid, match="OSError: no more processes"):
            score(engine, task, "support", [BASE], store, block_size=16, least_valid=0.98)
        inner._child.ask = ask
        table = score(engine, task, "support", [BASE], store, block_size=16, least_valid=0.98, again=True)
    task.close()
    with ScoreStore.open(tmp_path / "whole", dict(engine.identity)) as store:
        whole = score(engine, task, "support", [BASE], store, block_size=16)
    task.close()
    assert table.valid.all()
    np.testing.assert_array_equal(table.values, whole.values)


def test_an_engine_without_log_probabilities_is_refused_before_anything_is_scored(tmp_path: Path) -> None:
    class Plain(HashEngine):
        capabilities: frozenset[str] = frozenset()

    plain = Plain()
    with ScoreStore.open(tmp_path / "s", IDENTITY) as store:
        for verifier in (SUM, {"kind": "mixed", "verifier": {"kind": "exact"}}):
            with pytest.raises(EngineIncapable, match="needs log-probabilities"):
                score(plain, addition(verifier), "support", [BASE], store, block_size=4)
    assert plain.log == []
