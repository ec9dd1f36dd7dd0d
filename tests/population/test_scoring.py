"""The scoring loop: order, resume, overlap, and that nothing scored is lost or wrong."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from population.direction import Component, Direction, Law
from population.engines.engine import Completion, Sampling
from population.errors import DiskFull, EngineMismatch, PopulationInvalid, ScoringStopped, StoreMismatch
from population.proposal import BASE, Candidate, isotropic, null_candidate
from population.scoring import Progress, score
from population.store import ScoreStore
from population.table import Table
from verify.task import Task, TaskSpec, load_task
from verify.verdict import Verdict

ROOT = Path(__file__).parents[2]
LAW = Law()
IDENTITY = {"task": "parity", "engine": "hash"}
COUNTS = {"support": 10, "select": 3, "gate": 3, "test": 3}


def parity_task() -> Task:
    rows = [{"question": f"Is {n} odd?", "answer": ("no", "yes")[n % 2]} for n in range(30)]
    spec = {
        "name": "parity",
        "data": {"rows": rows},
        "prompt": {"user": "{question}"},
        "verifier": {"kind": "exact"},
        "splits": COUNTS,
        "max_new_tokens": 5,
        "stop": ["\n"],
    }
    return load_task(TaskSpec.model_validate(spec), Path())


@dataclass
class HashEngine:
    """Answers yes or no by a hash of its weights and the prompt alone, and keeps a log of its calls."""

    identity = IDENTITY
    version: str = "none"
    log: list[tuple[str, object]] = field(default_factory=list)

    def set_weights(self, direction: Direction | None) -> str:
        self.version = "base" if direction is None else direction.digest()
        self.log.append(("switch", self.version))
        return self.version

    def generate(self, prompts, sampling, budgets=None):
        assert sampling == Sampling(max_new_tokens=5, temperature=0.0, stop=("\n",))
        self.log.append(("generate", [prompt[-1]["content"] for prompt in prompts]))
        return [self.answer(prompt) for prompt in prompts]

    def answer(self, prompt) -> Completion:
        text = f"{self.version}|{prompt[-1]['content']}"
        bit = hashlib.sha256(text.encode()).digest()[0] & 1
        return Completion(("no", "yes")[bit], (bit, 7), "stop", None, self.version)

    def calls(self, kind: str) -> list:
        return [value for name, value in self.log if name == kind]


@pytest.fixture
def task():
    return parity_task()


@pytest.fixture
def store(tmp_path):
    with ScoreStore.open(tmp_path / "scores", IDENTITY) as opened:
        yield opened


def candidates(n: int = 4) -> tuple[Candidate, ...]:
    return (BASE, null_candidate(LAW), *isotropic(n, (1e-3, 2e-3), 1, LAW))


class Stop:
    """Cancels at a given poll."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_the_table_is_what_the_engine_answers_to_each_prompt_alone(task, store):
    table = score(HashEngine(), task, "support", candidates(), store, block_size=4)
    assert table.keys == tuple(candidate.key for candidate in candidates())
    assert table.sigmas.tolist() == [0, 0, 1e-3, 2e-3, 1e-3, 2e-3]
    assert table.values.shape == table.valid.shape == (6, 10)
    assert table.valid.all()
    for i, candidate in enumerate(candidates()):
        engine = HashEngine()
        engine.set_weights(candidate.direction)
        for j, item in enumerate(task.splits["support"]):
            right = engine.answer(task.messages(item)).text == item["answer"]
            assert table.values[i, j] == right
    assert 0 < table.rewards().mean() < 1


def test_blocks_are_fixed_and_the_engine_switches_once_per_candidate(task, store):
    engine = HashEngine()
    score(engine, task, "support", candidates(), store, block_size=4)
    questions = [item["question"] for item in task.splits["support"]]
    assert engine.calls("generate") == [questions[0:4], questions[4:8], questions[8:10]] * 6
    versions = ["base", *(candidate.direction.digest() for candidate in candidates()[1:])]
    assert engine.calls("switch") == versions
    assert store.blocks("base", "support") == {0: 4, 1: 4, 2: 2}
    block = store.get("base", "support", 2)
    assert block.tokens.tolist() == [2, 2]
    assert set(block.texts) <= {"yes", "no"}


def test_what_is_stored_is_not_repeated(task, store):
    one = score(HashEngine(), task, "support", candidates(), store, block_size=4)
    engine = HashEngine()
    two = score(engine, task, "support", candidates(), store, block_size=4)
    assert engine.log == []
    np.testing.assert_array_equal(one.values, two.values)
    engine = HashEngine()
    score(engine, task, "support", candidates(5), store, block_size=4)
    assert len(engine.calls("switch")) == 1
    score(engine, task, "gate", [BASE], store, block_size=4)
    assert engine.calls("switch")[1:] == ["base"]


@pytest.mark.parametrize("after", [0, 1, 2, 3, 7, 17])
def test_stopping_keeps_every_generated_block_and_resuming_gives_the_same_table(task, tmp_path, after):
    with ScoreStore.open(tmp_path / "whole", IDENTITY) as store:
        whole = score(HashEngine(), task, "support", candidates(), store, block_size=4)
        digest = store.digest()
    with ScoreStore.open(tmp_path / "cut", IDENTITY) as store:
        first, second = HashEngine(), HashEngine()
        with pytest.raises(ScoringStopped, match=f"with {18 - after} blocks left"):
            score(first, task, "support", candidates(), store, block_size=4, cancelled=Stop(after))
        stored = sum(len(store.blocks(candidate.key, "support")) for candidate in candidates())
        assert stored == len(first.calls("generate")) == after
        table = score(second, task, "support", candidates(), store, block_size=4)
        assert len(second.calls("generate")) == 18 - after
        assert store.digest() == digest
    np.testing.assert_array_equal(table.values, whole.values)


class Rendezvous:
    """An engine and a verifier that wait for each other: they get on only at the same time."""

    def __init__(self, task: Task) -> None:
        self.engine, self.task = HashEngine(), task
        self.verifying, self.generating = threading.Event(), threading.Event()
        self.blocks = 0

    def set_weights(self, direction):
        return self.engine.set_weights(direction)

    def generate(self, prompts, sampling, budgets=None):
        self.blocks += 1
        if self.blocks == 2:
            self.generating.set()
            assert self.verifying.wait(10), "block 0 was not verified while block 1 was generated"
        return self.engine.generate(prompts, sampling)

    def __call__(self, item, completion):
        assert self.generating.wait(10), "block 1 was not generated while block 0 was verified"
        self.verifying.set()
        return self.task.verifier(item, completion)


def test_verification_overlaps_the_generation_of_the_next_block(task, store):
    both = Rendezvous(task)
    score(both, replace(task, verifier=both), "support", [BASE], store, block_size=4)
    assert both.blocks == 3


def test_generation_does_not_run_far_ahead_of_a_slow_verifier(task, store):
    engine = HashEngine()
    ahead = []

    def slow(item, completion):
        threading.Event().wait(0.01)
        stored = sum(len(store.blocks(candidate.key, "support")) for candidate in candidates())
        ahead.append(len(engine.calls("generate")) - stored)
        return task.verifier(item, completion)

    score(engine, replace(task, verifier=slow), "support", candidates(), store, block_size=4)
    assert max(ahead) == 2


def test_a_verifier_that_raises_surfaces_and_loses_no_other_block(task, store):
    seen = []

    def breaks(item, completion):
        seen.append(item)
        if len(seen) == 10:
            raise RuntimeError("the verifier broke")
        return task.verifier(item, completion)

    with pytest.raises(RuntimeError, match="the verifier broke"):
        score(HashEngine(), replace(task, verifier=breaks), "support", candidates(), store, block_size=4)
    assert {0, 1} <= set(store.blocks("base", "support")) <= {0, 1, 2}
    assert 2 not in store.blocks("base", "support")


def test_an_engine_that_breaks_keeps_the_blocks_it_answered(task, store):
    engine = HashEngine()
    answer = engine.generate

    def breaks(prompts, sampling, budgets=None):
        if len(engine.calls("generate")) == 4:
            raise MemoryError("out of memory")
        return answer(prompts, sampling)

    engine.generate = breaks
    with pytest.raises(MemoryError):
        score(engine, task, "support", candidates(), store, block_size=4)
    assert (len(store.blocks("base", "support")), len(store.blocks("null", "support"))) == (3, 1)


def test_a_full_disk_is_named_and_the_rest_kept(task, store):
    put, kept = store.put, []

    def full(block):
        if len(kept) == 2:
            raise DiskFull("no room")
        put(block)
        kept.append(block)

    store.put = full
    with pytest.raises(DiskFull):
        score(HashEngine(), task, "support", candidates(), store, block_size=4)
    assert len(store.blocks("base", "support")) == 2


def test_answers_of_other_weights_are_refused(task, store):
    class Stuck(HashEngine):
        """Switches on paper only."""

        def generate(self, prompts, sampling, budgets=None):
            answers = super().generate(prompts, sampling)
            return [replace(answer, version="base") for answer in answers]

    with pytest.raises(EngineMismatch, match="null was answered by weights base, not"):
        score(Stuck(), task, "support", candidates(), store, block_size=4)
    assert len(store.blocks("base", "support")) == 3
    assert store.blocks("null", "support") == {}


def test_missing_answers_are_refused(task, store):
    class Short(HashEngine):
        def generate(self, prompts, sampling, budgets=None):
            return super().generate(prompts, sampling)[:-1]

    with pytest.raises(EngineMismatch, match="answered 3 of 4 prompts"):
        score(Short(), task, "support", [BASE], store, block_size=4)
    assert store.blocks("base", "support") == {}


def test_a_caller_can_switch_the_weights_itself(task, store):
    engine, switched = HashEngine(), []

    def switch(given, candidate):
        switched.append(candidate.key)
        given.version = f"staged {candidate.key}"
        return given.version

    score(engine, task, "support", candidates(), store, block_size=4, switch=switch)
    assert switched == [candidate.key for candidate in candidates()]
    assert engine.calls("switch") == []


def test_another_block_size_is_refused_before_work(task, store):
    with pytest.raises(ScoringStopped):
        score(HashEngine(), task, "support", [BASE], store, block_size=4, cancelled=Stop(2))
    engine = HashEngine()
    with pytest.raises(StoreMismatch, match="support for base in blocks of 4 prompts, not 3"):
        score(engine, task, "support", [BASE], store, block_size=3)
    assert engine.log == []


def test_a_key_of_another_direction_is_refused_before_work(task, store):
    score(HashEngine(), task, "support", candidates(), store, block_size=4)
    other = Candidate("c00000", Direction((Component(3, 1e-3),), LAW), 1e-3)
    engine = HashEngine()
    with pytest.raises(StoreMismatch, match="c00000 was scored with another direction"):
        score(engine, task, "gate", [BASE, other], store, block_size=4)
    assert engine.log == []


def test_two_candidates_of_one_key_are_refused(task, store):
    with pytest.raises(PopulationInvalid, match="two candidates are called base"):
        score(HashEngine(), task, "support", [BASE, *candidates()], store, block_size=4)


class Clock:
    """Each reading is 0.5 s after the one before."""

    now = 100.0

    def __call__(self) -> float:
        self.now += 0.5
        return self.now


def test_progress_counts_durable_prompts_and_rates_only_new_ones(task, store):
    with pytest.raises(ScoringStopped):
        score(
            HashEngine(), task, "support", [BASE, null_candidate(LAW)], store, block_size=4, cancelled=Stop(4)
        )
    seen: list[Progress] = []
    clock = Clock()

    def report(progress):
        stored = sum(sum(store.blocks(key, "support").values()) for key in ("base", "null"))
        assert progress.done <= stored
        seen.append(progress)

    table = score(
        HashEngine(),
        task,
        "support",
        [BASE, null_candidate(LAW)],
        store,
        block_size=4,
        report=report,
        clock=clock,
    )
    assert [(p.done, p.total, p.candidate) for p in seen] == [(18, 20, "null"), (20, 20, "null")][
        -len(seen) :
    ]
    assert seen[-1].eta_seconds == 0
    assert seen[-1].mean == pytest.approx(table.rewards()[1])
    elapsed = clock.now - 100.5
    assert seen[-1].rate == pytest.approx(6 / elapsed)
    assert seen[0].eta_seconds == pytest.approx(2 / seen[0].rate)
    assert seen[0].to_json()["done"] == seen[0].done


def test_a_verdict_that_is_not_valid_is_no_zero(task, store):
    def sometimes(item, completion):
        number = int(item["question"].split()[1])
        if number % 3 == 0:
            return Verdict(0.0, False, error="exception")
        if number % 3 == 1:
            return Verdict(float("nan"), True)
        return Verdict(0.75, True)

    table = score(HashEngine(), replace(task, verifier=sometimes), "support", [BASE], store, block_size=4)
    numbers = [int(item["question"].split()[1]) for item in task.splits["support"]]
    assert table.valid[0].tolist() == [number % 3 == 2 for number in numbers]
    assert table.rewards().tolist() == [0.75]
    assert table.valid_rate() == table.valid.mean()
    faults = {at: ("exception", "not_finite")[n % 3] for at, n in enumerate(numbers[:4]) if n % 3 < 2}
    assert {at: reason.error for at, reason in store.get("base", "support", 0).faults.items()} == faults


def test_success_is_the_verifiers_own_word_and_the_tasks_mark_where_it_gives_none(task, store):
    """Values 0.4, 0.9 and 1.1 against a mark of 0.8; even numbers are judged by the verifier itself."""

    def shaped(item, completion):
        number = int(item["question"].split()[1])
        own = None if number % 2 else number % 4 == 0
        return Verdict((0.4, 0.9, 1.1)[number % 3], number % 5 > 0, success=own)

    scored = replace(task, verifier=shaped, pass_threshold=0.8)
    table = score(HashEngine(), scored, "support", [BASE], store, block_size=4)
    numbers = [int(item["question"].split()[1]) for item in task.splits["support"]]
    expected = [n % 5 > 0 and (n % 3 > 0 if n % 2 else n % 4 == 0) for n in numbers]
    assert table.success[0].tolist() == expected
    assert any(table.values[0] > 1)
    assert expected != (table.values[0] >= 0.8).tolist()
    assert store.vector("base", "support", 10).success.tolist() == expected


def test_table_statistics():
    values = np.array([[1.0, 0.5, np.nan, 0.0], [np.nan, 1.0, 1.0, 1.0]])
    valid = np.array([[True, True, False, True], [False, False, False, False]])
    table = Table(("a", "b"), np.array([0.0, 1.0]), values, valid, valid & (values == 1))
    assert table.rewards()[0] == 0.5
    assert np.isnan(table.rewards()[1])
    assert table.valid_rate() == 3 / 8


SEARCH = """
import sys, time
from pathlib import Path
from population.scoring import score
from population.store import ScoreStore
from tests_scoring import IDENTITY, HashEngine, candidates, parity_task
blocks = 0
def report(progress):
    global blocks
    blocks += 1
    print(progress.done, flush=True)
    if blocks == 60:  # of 210: whenever the signal comes, there is something left to do
        time.sleep(60)
store = ScoreStore.open(Path(sys.argv[1]), IDENTITY)
score(HashEngine(), parity_task(), "support", candidates(40), store, block_size=2, report=report)
"""


def test_a_search_killed_at_any_moment_resumes_to_the_same_table(task, tmp_path):
    with ScoreStore.open(tmp_path / "whole", IDENTITY) as store:
        score(HashEngine(), task, "support", candidates(40), store, block_size=2)
        digest = store.digest()
    shutil.copyfile(__file__, tmp_path / "tests_scoring.py")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    done = 0
    for delay in (0.0, 0.03, 0.07):
        command = [sys.executable, "-c", SEARCH, tmp_path / "cut"]
        search = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        lines = [search.stdout.readline()]
        time.sleep(delay)
        search.send_signal(signal.SIGKILL)
        lines += search.stdout.readlines()
        search.wait()
        search.stdout.close()
        done = max([done, *(int(line) for line in lines if line.endswith("\n"))])
    with ScoreStore.open(tmp_path / "cut", IDENTITY) as store:
        stored = sum(sum(store.blocks(candidate.key, "support").values()) for candidate in candidates(40))
        assert done <= stored < 420
        engine = HashEngine()
        score(engine, task, "support", candidates(40), store, block_size=2)
        assert len(engine.calls("generate")) == (420 - stored) // 2
        assert store.digest() == digest


def test_a_real_engine_resumes_to_the_same_table(pocket, tmp_path):
    from population.checkpoint import Checkpoint
    from population.engines.torch import TorchEngine

    spec = {
        "name": "addition",
        "data": {"generator": "addition", "seed": 0},
        "prompt": {"user": "{question}"},
        "verifier": {"kind": "exact"},
        "splits": {**COUNTS, "support": 40},
        "max_new_tokens": 4,
    }
    task = load_task(TaskSpec.model_validate(spec), Path())
    scored = (BASE, null_candidate(LAW), *isotropic(3, (0.02,), 1, LAW))
    tables, digests = [], []
    for name, stops in (("whole", ()), ("cut", (3, 4, 5))):
        engine = TorchEngine(Checkpoint.open(pocket), batch_size=16, threads=1)
        with ScoreStore.open(tmp_path / name, dict(engine.identity)) as store:
            for after in stops:
                with pytest.raises(ScoringStopped):
                    score(engine, task, "support", scored, store, block_size=16, cancelled=Stop(after))
            tables.append(score(engine, task, "support", scored, store, block_size=16))
            digests.append(store.digest())
        engine.close()
    assert digests[0] == digests[1]
    values = tables[0].values
    np.testing.assert_array_equal(values, tables[1].values)
    np.testing.assert_array_equal(values[0], values[1])
    assert len({row.tobytes() for row in values}) == 4
    assert 0.2 < tables[0].rewards()[0] < 0.9
