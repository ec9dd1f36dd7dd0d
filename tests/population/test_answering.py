"""Scores by drawing and by another batch order: keys of their own, whatever the company, resumable."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from population.answering import Draws, arrangement
from population.engines.engine import Completion, Sampling
from population.errors import PopulationInvalid, ScoringStopped, StoreMismatch
from population.proposal import BASE, Candidate
from population.scoring import score
from population.store import ScoreStore
from tests.population.test_scoring import COUNTS, IDENTITY, HashEngine, Stop, parity_task
from verify.task import TaskSpec, load_task

DRAWS = Draws(0.7, seed=5)


def samples(count: int) -> list[Candidate]:
    return [Candidate(f"base~t0.7#{number}", None, 0.0) for number in range(count)]


class DrawingEngine(HashEngine):
    """Answers by a hash of weights, prompt and the sampling's seed; keeps the settings it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.settings: list[Sampling] = []

    def generate(self, prompts, sampling, budgets=None):
        self.settings.append(sampling)
        self.log.append(("generate", [prompt[-1]["content"] for prompt in prompts]))
        texts = [f"{self.version}|{prompt[-1]['content']}|{sampling.seed}" for prompt in prompts]
        bits = [hashlib.sha256(text.encode()).digest()[0] & 1 for text in texts]
        return [Completion(("no", "yes")[bit], (bit,), "stop", None, self.version) for bit in bits]


@pytest.fixture
def store(tmp_path):
    with ScoreStore.open(tmp_path / "scores", IDENTITY) as opened:
        yield opened


@given(st.integers(0, 60), st.integers(1, 20), st.integers(0, 5))
def test_an_arrangement_asks_every_prompt_once_in_blocks_that_fit(
    n: int, block_size: int, order: int
) -> None:
    blocks = arrangement(n, block_size, order)
    assert sorted(at for prompts in blocks for at in prompts) == list(range(n))
    assert all(1 <= len(prompts) <= block_size for prompts in blocks)


def test_another_order_changes_place_company_and_batch_size() -> None:
    usual, one, two = (arrangement(40, 16, order) for order in range(3))
    assert [list(prompts) for prompts in usual] == [[*range(16)], [*range(16, 32)], [*range(32, 40)]]
    assert [len(prompts) for prompts in one] == [len(prompts) for prompts in two] == [8, 16, 16]
    assert len({tuple(map(frozenset, blocks)) for blocks in (usual, one, two)}) == 3
    assert [len(prompts) for prompts in arrangement(10, 16, 1)] == [5, 5]  # a split of one block too
    with pytest.raises(PopulationInvalid, match="batch order -1"):
        arrangement(3, 2, -1)


def test_an_order_never_changes() -> None:
    assert arrangement(6, 4, 1) == ((0, 5), (2, 3, 4, 1))


def test_the_table_of_another_order_is_in_the_order_of_the_rows(store) -> None:
    task, engine = parity_task(), HashEngine()
    usual = score(engine, task, "support", [BASE], store, block_size=4)
    other = score(engine, task, "support", [replace(BASE, key="o1")], store, block_size=4, order=1)
    np.testing.assert_array_equal(other.values[0], usual.values[0])
    assert 0 < usual.values.mean() < 1
    asked = [question for block in engine.calls("generate")[3:] for question in block]
    assert asked != [item["question"] for item in task.splits["support"]]
    assert sorted(asked) == sorted(item["question"] for item in task.splits["support"])


def test_invalid_verdicts_stay_with_their_rows_in_another_order(store) -> None:
    task = parity_task()

    def judge(item, completion):
        return replace(task.verifier(item, completion), valid=item["answer"] == "no")

    table = score(
        HashEngine(), replace(task, verifier=judge), "support", [BASE], store, block_size=4, order=2
    )
    assert table.valid[0].tolist() == [item["answer"] == "no" for item in task.splits["support"]]


def test_draws_take_their_settings_from_the_task_and_their_seed_from_the_key(store) -> None:
    engine = DrawingEngine()
    score(engine, parity_task(), "support", samples(3), store, block_size=10, sampling=DRAWS)
    assert len({settings.seed for settings in engine.settings}) == 3
    for settings in engine.settings:
        assert replace(settings, seed=0) == Sampling(5, 0.7, 1.0, 0, ("\n",))
    other = replace(DRAWS, seed=6).sampling("base~t0.7#0", 5, ())
    assert other.seed != DRAWS.sampling("base~t0.7#0", 5, ()).seed


def test_a_draw_depends_on_no_other_key_of_the_call(tmp_path) -> None:
    texts = []
    for name, keys in (("all", samples(3)), ("one", samples(3)[2:]), ("back", samples(3)[::-1])):
        with ScoreStore.open(tmp_path / name, IDENTITY) as store:
            score(DrawingEngine(), parity_task(), "support", keys, store, block_size=4, sampling=DRAWS)
            texts.append(store.texts("base~t0.7#2", "support"))
    assert texts[0] == texts[1] == texts[2]
    assert len(set(texts[0])) == 2


@pytest.mark.parametrize("after", [0, 1, 4, 8])
def test_drawn_scores_resume_to_the_same_table(tmp_path, after: int) -> None:
    digests = []
    for name, stop in (("whole", None), ("cut", Stop(after))):
        with ScoreStore.open(tmp_path / name, IDENTITY) as store:
            arguments = (parity_task(), "support", samples(3), store)
            if stop:
                with pytest.raises(ScoringStopped):
                    score(
                        DrawingEngine(),
                        *arguments,
                        block_size=4,
                        sampling=DRAWS,
                        order=1,
                        cancelled=stop,
                    )
            engine = DrawingEngine()
            score(engine, *arguments, block_size=4, sampling=DRAWS, order=1)
            assert len(engine.settings) == 9 - (after if stop else 0)
            digests.append(store.digest())
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"order": 1},
        {"sampling": DRAWS, "order": 2},
        {"sampling": Draws(0.8, seed=5), "order": 1},
        {"sampling": Draws(0.7, 0.9, 5), "order": 1},
        {"sampling": Draws(0.7, seed=6), "order": 1},
    ],
)
def test_a_key_keeps_its_manner(store, changed) -> None:
    task = parity_task()
    score(DrawingEngine(), task, "support", samples(1), store, block_size=4, sampling=DRAWS, order=1)
    score(DrawingEngine(), task, "gate", samples(1), store, block_size=4, sampling=DRAWS, order=1)
    engine = DrawingEngine()
    with pytest.raises(StoreMismatch, match=r"base~t0\.7#0 was scored .* in another manner"):
        score(engine, task, "gate", samples(1), store, block_size=4, **changed)
    assert engine.log == []


def test_usual_scores_are_stored_as_they_always_were(store) -> None:
    store.add_candidate("base", None)
    store.add_candidate("base", None, {})
    with pytest.raises(StoreMismatch):
        store.add_candidate("base", None, {"order": 1})


@pytest.mark.parametrize("bad", [{"temperature": 0.0}, {"temperature": float("nan")}, {"top_p": 0.0}])
def test_draws_out_of_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(PopulationInvalid):
        Draws(**{"temperature": 1.0, **bad})


def test_tokens_are_counted_over_a_split(store) -> None:
    score(HashEngine(), parity_task(), "support", [BASE], store, block_size=4)
    assert store.tokens("base", "support") == 2 * COUNTS["support"]
    assert store.tokens("base", "gate") == 0


def test_a_real_engine_draws_the_same_whatever_the_order_and_differently_per_key(pocket, tmp_path) -> None:
    from population.checkpoint import Checkpoint
    from population.engines.torch import TorchEngine

    spec = {
        "name": "addition",
        "data": {"generator": "addition", "seed": 0},
        "prompt": {"user": "{question}"},
        "verifier": {"kind": "exact"},
        "splits": {**COUNTS, "support": 60},
        "max_new_tokens": 4,
    }
    task = load_task(TaskSpec.model_validate(spec), Path())
    engine = TorchEngine(Checkpoint.open(pocket), batch_size=32, threads=1)
    tables = []
    for order in range(2):
        with ScoreStore.open(tmp_path / f"{order}", dict(engine.identity)) as store:
            tables.append(
                score(engine, task, "support", samples(3), store, block_size=32, sampling=DRAWS, order=order)
            )
            greedy = score(engine, task, "support", [BASE], store, block_size=32)
    engine.close()
    np.testing.assert_array_equal(tables[0].values, tables[1].values)
    assert len({row.tobytes() for row in (*tables[0].values, greedy.values[0])}) == 4
