"""Every candidate on every prompt of a split, each block of prompts durable before it counts.

Generation holds the engine, verification a thread of its own: while the verifier judges one block, the next
is generated. Blocks have a fixed composition, the same for every candidate, so that a candidate's scores do
not depend on when the search was interrupted.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from population.answering import Blocks, Draws, arrangement, manner
from population.block import Block
from population.engines.engine import Completion, Engine, Sampling
from population.errors import EngineMismatch, PopulationInvalid, ScoringStopped, StoreMismatch
from population.judging import Answers, amended, judged, likelihoods, require
from population.progress import Meter, Progress
from population.proposal import Candidate
from population.store import ScoreStore
from population.table import Table
from population.validity import Validity
from verify.kinds.likelihood import Likelihood
from verify.prompt import Message
from verify.task import Task
from verify.verdict import Item

__all__ = ["IN_FLIGHT", "Progress", "Switch", "Table", "score"]

# Blocks generated but not yet durable. More would only hide a verifier that is slower than the model.
IN_FLIGHT = 2

Switch = Callable[[Engine, Candidate], str]


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
    least_valid: float = 0.0,
    again: bool = False,
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
        least_valid: share of the verdicts, stored ones included, that have to be valid.
        again: judge once more what could not be judged, with the completions as they are stored.
        clock: seconds.

    Raises:
        ScoringStopped: `cancelled` returned true; every block generated until then is stored.
        VerdictsInvalid: as soon as fewer than `least_valid` of the verdicts can be valid, or where no verdict
            on a candidate is; every block generated until then is stored.
        EngineIncapable: the verifier needs what the engine cannot do.
        EngineMismatch: the engine answered with other weights than it was given.
        StoreMismatch: the store has blocks of another size, or another direction or manner of answering
            under a candidate's key.
        PopulationInvalid: two candidates share a key, or a negative order.
        DiskFull: no room for a block; those before it are stored.
    """
    require(engine, task.verifier)
    n = len(task.splits[split])
    blocks = arrangement(n, block_size, order)
    for candidate in _distinct(candidates):
        store.add_candidate(candidate.key, candidate.direction, manner(sampling, order))
    missing = _plan(candidates, blocks, split, store, block_size, again)
    validity = _validity(candidates, split, n, store, missing, least_valid)
    meter = Meter(len(candidates) * n, sum(len(work.prompts) for work in missing), clock)
    scorer = _Scorer(engine, task, split, store, switch or _set_weights, sampling, clock)
    # Leaving the executor waits for what was generated: an error or a stop loses nothing.
    with ThreadPoolExecutor(1, thread_name_prefix="verify") as thread:
        for block in scorer.blocks(missing, thread, cancelled or _never):
            meter.add(block)
            if report:
                report(meter.progress(block, store))
            validity.add(block)
    return _table(candidates, blocks, split, store)


@dataclass(frozen=True, slots=True)
class _Work:
    """A block that is not in the store yet, or one with prompts that are to be judged again."""

    candidate: Candidate
    number: int
    prompts: Sequence[int]
    known: Block | None = None


def _distinct(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    keys = [candidate.key for candidate in candidates]
    if len(set(keys)) < len(keys):
        raise PopulationInvalid(f"two candidates are called {max(keys, key=keys.count)}")
    return candidates


def _plan(
    candidates: Sequence[Candidate],
    blocks: Blocks,
    split: str,
    store: ScoreStore,
    block_size: int,
    again: bool,
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
        unjudged = store.unjudged(candidate.key, split) if again else {}
        for number in sizes:
            known = store.get(candidate.key, split, number) if unjudged.get(number) else None
            if known is not None or number not in stored:
                missing.append(_Work(candidate, number, blocks[number], known))
    return missing


def _validity(
    candidates: Sequence[Candidate],
    split: str,
    n: int,
    store: ScoreStore,
    missing: Sequence[_Work],
    least: float,
) -> Validity:
    """The count of what is stored and stays."""
    validity = Validity(split, least, len(candidates), n)
    open_blocks: dict[str, set[int]] = {}
    for work in missing:
        open_blocks.setdefault(work.candidate.key, set()).add(work.number)
    for candidate in candidates:
        validity.known(candidate.key, store, open_blocks.get(candidate.key, set()))
    validity.check()
    return validity


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
            if work.candidate is not current and not self.answered(work):
                current, version = work.candidate, self.switch(self.engine, work.candidate)
            pending.append(thread.submit(self.judge, work, self.answers(work, version)))
            if len(pending) == IN_FLIGHT:
                yield pending.popleft().result()
        yield from (future.result() for future in pending)

    def answered(self, work: _Work) -> bool:
        """Whether the store has all that the verifier reads: log-probabilities are not kept."""
        return work.known is not None and not isinstance(self.task.verifier, Likelihood)

    def answers(self, work: _Work, version: str | None) -> Answers:
        """What the engine says to the block's prompts, and the seconds that took."""
        known, verifier = work.known, self.task.verifier
        if known is not None and self.answered(work):
            return Answers(known.texts, tuple(known.tokens.tolist()), seconds=known.seconds)
        items = self.items(work)
        prompts = [self.task.messages(item) for item in items]
        begun = self.clock()
        found = Answers(("",) * len(items), (0,) * len(items))
        if not isinstance(verifier, Likelihood) or verifier.reads_completion:
            completions = self.generate(work, prompts, version)
            found = Answers(
                tuple(completion.text for completion in completions),
                tuple(len(completion.token_ids) for completion in completions),
            )
        if isinstance(verifier, Likelihood):
            found = replace(found, logprobs=likelihoods(self.engine, verifier, prompts, items))
        return replace(found, seconds=self.clock() - begun)

    def generate(self, work: _Work, prompts: list[list[Message]], version: str | None) -> list[Completion]:
        completions = self.engine.generate(prompts, self.sampling(work.candidate.key))
        if len(completions) != len(prompts):
            raise EngineMismatch(f"the engine answered {len(completions)} of {len(prompts)} prompts")
        for completion in completions:
            if completion.version != version:
                raise EngineMismatch(
                    f"{work.candidate.key} was answered by weights {completion.version}, not {version}",
                    hint="this is a fault of the engine; nothing of this block was stored",
                )
        return completions

    def judge(self, work: _Work, answers: Answers) -> Block:
        """Verify and store; runs in the verifying thread."""
        block = judged(self.task, self.split, work.candidate.key, work.number, self.items(work), answers)
        if work.known is None:
            self.store.put(block)
            return block
        block = amended(work.known, block)
        self.store.amend(block)
        return block

    def items(self, work: _Work) -> list[Item]:
        rows = self.task.splits[self.split]
        return [rows[at] for at in work.prompts]

    def sampling(self, key: str) -> Sampling:
        limits = self.task.max_new_tokens, self.task.stop
        return self.draws.sampling(key, *limits) if self.draws else Sampling(limits[0], stop=limits[1])


def _table(candidates: Sequence[Candidate], blocks: Blocks, split: str, store: ScoreStore) -> Table:
    asked = np.array([at for prompts in blocks for at in prompts], np.intp)
    shape = len(candidates), len(asked)
    values, valid, success = np.empty(shape), np.empty(shape, np.bool_), np.empty(shape, np.bool_)
    for row, candidate in enumerate(candidates):
        values[row, asked], valid[row, asked], success[row, asked] = store.vector(
            candidate.key, split, len(asked)
        )
    return Table(
        tuple(candidate.key for candidate in candidates),
        np.array([candidate.sigma for candidate in candidates], np.float64),
        values,
        valid,
        success,
    )


def _set_weights(engine: Engine, candidate: Candidate) -> str:
    return engine.set_weights(candidate.direction)


def _never() -> bool:
    return False
