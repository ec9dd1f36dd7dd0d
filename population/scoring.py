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

from population.answering import Blocks, Draws, arrangement, manner
from population.block import Block
from population.engines.engine import Completion, Engine, Sampling
from population.errors import EngineMismatch, PopulationInvalid, ScoringStopped, StoreMismatch
from population.proposal import Candidate
from population.store import ScoreStore
from population.table import Table
from verify.task import Task
from verify.verdict import Item

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
    sampling: Draws | None = None,
    order: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Table:
    """Answers of every candidate to every prompt of a split, judged and stored; greedy unless drawn.

    A stored block is not repeated, and the engine is not switched to a candidate that needs nothing.
    Scores by `sampling` or another `order` are kept under keys of their own, which the caller chooses, for
    example ``base~t0.7#3``; the store refuses a key that stands for scores of another kind.

    Args:
        candidates: in the order in which they are scored; their keys differ.
        block_size: prompts per block; part of what the scores depend on.
        report: called from this thread after each block that became durable.
        cancelled: polled before each block.
        switch: gives the engine a candidate's weights and returns their version; default
            `Engine.set_weights`.
        sampling: draw the completions, seeded per candidate key and prompt.
        order: another batch order than that of the rows (`population.answering.arrangement`); the table is
            in the order of the rows all the same.
        clock: seconds.

    Raises:
        ScoringStopped: `cancelled` returned true; every block generated until then is stored.
        EngineMismatch: the engine answered with other weights than it was given.
        StoreMismatch: the store has blocks of another size, or another direction or manner of answering
            under a candidate's key.
        PopulationInvalid: two candidates share a key, or a negative order.
        DiskFull: no room for a block; those before it are stored.
    """
    n = len(task.splits[split])
    blocks = arrangement(n, block_size, order)
    for candidate in _distinct(candidates):
        store.add_candidate(candidate.key, candidate.direction, manner(sampling, order))
    missing = _plan(candidates, blocks, split, store, block_size)
    meter = _Meter(len(candidates) * n, sum(len(work.prompts) for work in missing), clock)
    scorer = _Scorer(engine, task, split, store, switch or _set_weights, sampling, clock)
    # Leaving the executor waits for what was generated: an error or a stop loses nothing.
    with ThreadPoolExecutor(1, thread_name_prefix="verify") as thread:
        for block in scorer.blocks(missing, thread, cancelled or _never):
            meter.add(block)
            if report:
                report(meter.progress(block, store))
    return _table(candidates, blocks, split, store)


@dataclass(frozen=True, slots=True)
class _Work:
    """A block that is not in the store yet."""

    candidate: Candidate
    number: int
    prompts: Sequence[int]


def _distinct(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    keys = [candidate.key for candidate in candidates]
    if len(set(keys)) < len(keys):
        raise PopulationInvalid(f"two candidates are called {max(keys, key=keys.count)}")
    return candidates


def _plan(
    candidates: Sequence[Candidate], blocks: Blocks, split: str, store: ScoreStore, block_size: int
) -> list[_Work]:
    """What is to be done, in order, after checking that the store can be continued."""
    sizes = {number: len(prompts) for number, prompts in enumerate(blocks)}
    missing = []
    for candidate in candidates:
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
    draws: Draws | None
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
        """Completions of the block's prompts, and the seconds they took."""
        items = self.items(work)
        begun = self.clock()
        completions = self.engine.generate(
            [self.task.messages(item) for item in items], self.sampling(work.candidate.key)
        )
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
        verdicts = [
            self.task.verifier(item, completion.text)
            for item, completion in zip(self.items(work), completions, strict=True)
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

    def items(self, work: _Work) -> list[Item]:
        rows = self.task.splits[self.split]
        return [rows[at] for at in work.prompts]

    def sampling(self, key: str) -> Sampling:
        limits = self.task.max_new_tokens, self.task.stop
        return self.draws.sampling(key, *limits) if self.draws else Sampling(limits[0], stop=limits[1])


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


def _table(candidates: Sequence[Candidate], blocks: Blocks, split: str, store: ScoreStore) -> Table:
    asked = np.array([at for prompts in blocks for at in prompts], np.intp)
    shape = len(candidates), len(asked)
    values, valid = np.empty(shape), np.empty(shape, np.bool_)
    for row, candidate in enumerate(candidates):
        values[row, asked], valid[row, asked] = store.vector(candidate.key, split, len(asked))
    return Table(
        tuple(candidate.key for candidate in candidates),
        np.array([candidate.sigma for candidate in candidates], np.float64),
        values,
        valid,
    )


def _set_weights(engine: Engine, candidate: Candidate) -> str:
    return engine.set_weights(candidate.direction)


def _never() -> bool:
    return False
