"""Every candidate on every prompt of a split, each block of prompts durable before it counts.

Generation holds the engine, verification a thread of its own: while the verifier judges one block, the next
is generated. Blocks have a fixed composition, the same for every candidate, so that a candidate's scores do
not depend on when the search was interrupted.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np

from population.block import Block
from population.engines.engine import Completion, Engine, Sampling
from population.errors import EngineMismatch, PopulationInvalid, ScoringStopped, StoreMismatch
from population.proposal import Candidate
from population.store import ScoreStore
from population.table import Table
from verify.task import Task

__all__ = ["IN_FLIGHT", "Progress", "Switch", "Table", "score"]

# Blocks generated but not yet durable. More would only hide a verifier that is slower than the model.
IN_FLIGHT = 2

Switch = Callable[[Engine, Candidate], str]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far scoring is, in prompts.

    Attributes:
        done: durable, those found in the store included.
        total: candidates times prompts.
        rate: prompts per second, of those scored in this call; 0 before the first.
        eta_seconds: time left at that rate, None before there is one.
        candidate: key of the candidate that was scored last.
        mean: its mean value over the valid prompts so far, None where there is none.
    """

    done: int
    total: int
    rate: float
    eta_seconds: float | None
    candidate: str
    mean: float | None

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def score(
    engine: Engine,
    task: Task,
    split: str,
    candidates: Sequence[Candidate],
    store: ScoreStore,
    *,
    block_size: int,
    report: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    switch: Switch | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Table:
    """Greedy answers of every candidate to every prompt of a split, judged and stored.

    A stored block is not repeated, and the engine is not switched to a candidate that needs nothing.

    Args:
        candidates: in the order in which they are scored; their keys differ.
        block_size: prompts per block; part of what the scores depend on.
        report: called from this thread after each block that became durable.
        cancelled: polled before each block.
        switch: gives the engine a candidate's weights and returns their version; default
            `Engine.set_weights`.
        clock: seconds.

    Raises:
        ScoringStopped: `cancelled` returned true; every block generated until then is stored.
        EngineMismatch: the engine answered with other weights than it was given.
        StoreMismatch: the store has blocks of another size, or another direction under a candidate's key.
        PopulationInvalid: two candidates share a key.
        DiskFull: no room for a block; those before it are stored.
    """
    n = len(task.splits[split])
    missing = _plan(candidates, n, split, store, block_size)
    meter = _Meter(len(candidates) * n, sum(len(work.prompts) for work in missing), clock)
    scorer = _Scorer(engine, task, split, store, switch or _set_weights, clock)
    # Leaving the executor waits for what was generated: an error or a stop loses nothing.
    with ThreadPoolExecutor(1, thread_name_prefix="verify") as thread:
        for block in scorer.blocks(missing, thread, cancelled or _never):
            meter.add(block)
            if report:
                report(meter.progress(block, store))
    return _table(candidates, n, split, store)


@dataclass(frozen=True, slots=True)
class _Work:
    """A block that is not in the store yet."""

    candidate: Candidate
    number: int
    prompts: range


def _plan(
    candidates: Sequence[Candidate], n: int, split: str, store: ScoreStore, block_size: int
) -> list[_Work]:
    """What is to be done, in order, after checking that the store can be continued."""
    keys = [candidate.key for candidate in candidates]
    if len(set(keys)) < len(keys):
        raise PopulationInvalid(f"two candidates are called {max(keys, key=keys.count)}")
    blocks = [range(start, min(start + block_size, n)) for start in range(0, n, block_size)]
    sizes = {number: len(prompts) for number, prompts in enumerate(blocks)}
    missing = []
    for candidate in candidates:
        store.add_candidate(candidate.key, candidate.direction)
        stored = store.blocks(candidate.key, split)
        if not stored.items() <= sizes.items():
            raise StoreMismatch(
                f"{store.path} has {split} for {candidate.key} in blocks of {max(stored.values())} prompts,"
                f" not {block_size}",
                hint="use the batch size and the split that the run was started with",
            )
        missing += [_Work(candidate, number, blocks[number]) for number in sizes if number not in stored]
    return missing


@dataclass(frozen=True, slots=True)
class _Scorer:
    engine: Engine
    task: Task
    split: str
    store: ScoreStore
    switch: Switch
    clock: Callable[[], float]

    def blocks(
        self, missing: Sequence[_Work], thread: ThreadPoolExecutor, cancelled: Callable[[], bool]
    ) -> Iterator[Block]:
        """Every missing block once it is durable, in order."""
        pending: deque[Future[Block]] = deque()
        current = version = None
        for number, work in enumerate(missing):
            if cancelled():
                yield from (future.result() for future in pending)
                raise ScoringStopped(
                    f"scoring on {self.split} was stopped with {len(missing) - number} blocks left",
                    hint="run it again to continue; nothing scored is repeated",
                )
            if work.candidate is not current:
                current, version = work.candidate, self.switch(self.engine, work.candidate)
            pending.append(thread.submit(self.judge, work, *self.generate(work, version)))
            if len(pending) == IN_FLIGHT:
                yield pending.popleft().result()
        yield from (future.result() for future in pending)

    def generate(self, work: _Work, version: str | None) -> tuple[list[Completion], float]:
        """Greedy completions of the block's prompts, and the seconds they took."""
        items = self.task.splits[self.split][work.prompts.start : work.prompts.stop]
        sampling = Sampling(max_new_tokens=self.task.max_new_tokens, stop=self.task.stop)
        begun = self.clock()
        completions = self.engine.generate([self.task.messages(item) for item in items], sampling)
        seconds = self.clock() - begun
        if len(completions) != len(items):
            raise EngineMismatch(f"the engine answered {len(completions)} of {len(items)} prompts")
        for completion in completions:
            if completion.version != version:
                raise EngineMismatch(
                    f"{work.candidate.key} was answered by weights {completion.version}, not {version}",
                    hint="this is a fault of the engine; nothing of this block was stored",
                )
        return completions, seconds

    def judge(self, work: _Work, completions: Sequence[Completion], seconds: float) -> Block:
        """Verify and store; runs in the verifying thread."""
        items = self.task.splits[self.split][work.prompts.start : work.prompts.stop]
        verdicts = [
            self.task.verifier(item, completion.text)
            for item, completion in zip(items, completions, strict=True)
        ]
        block = Block(
            work.candidate.key,
            self.split,
            work.number,
            np.array([verdict.value for verdict in verdicts], np.float64),
            np.array([verdict.valid and math.isfinite(verdict.value) for verdict in verdicts], np.bool_),
            np.array([len(completion.token_ids) for completion in completions], np.int32),
            tuple(completion.text for completion in completions),
            seconds,
        )
        self.store.put(block)
        return block


class _Meter:
    """Rate and running means of what was scored in this call."""

    def __init__(self, total: int, missing: int, clock: Callable[[], float]) -> None:
        self._total, self._missing, self._clock = total, missing, clock
        self._begun = clock()
        self._fresh = 0

    def add(self, block: Block) -> None:
        self._fresh += len(block)

    def progress(self, block: Block, store: ScoreStore) -> Progress:
        elapsed = self._clock() - self._begun
        left = self._missing - self._fresh
        rate = self._fresh / elapsed if elapsed > 0 else 0.0
        values, valid = store.scores(block.candidate, block.split)
        return Progress(
            done=self._total - left,
            total=self._total,
            rate=rate,
            eta_seconds=left / rate if rate > 0 else None,
            candidate=block.candidate,
            mean=float(values[valid].mean()) if valid.any() else None,
        )


def _table(candidates: Sequence[Candidate], n: int, split: str, store: ScoreStore) -> Table:
    vectors = [store.vector(candidate.key, split, n) for candidate in candidates]
    shape = len(candidates), n
    return Table(
        tuple(candidate.key for candidate in candidates),
        np.array([candidate.sigma for candidate in candidates], np.float64),
        np.array([values for values, _ in vectors], np.float64).reshape(shape),
        np.array([valid for _, valid in vectors], np.bool_).reshape(shape),
    )


def _set_weights(engine: Engine, candidate: Candidate) -> str:
    return engine.set_weights(candidate.direction)


def _never() -> bool:
    return False
