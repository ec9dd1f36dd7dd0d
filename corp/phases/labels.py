"""Log-likelihood of fixed answers under the base, durable block by block like any score."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from corp.phases.run import Run
from population.answering import arrangement
from population.block import Block
from population.errors import ScoringStopped


def likelihoods(run: Run, phase: str, split: str, labels: Sequence[str]) -> npt.NDArray[np.float64]:
    """Log-probability of each label after each prompt of ``split``, summed over its tokens.

    Returns:
        In nats, shape (L, n).

    Raises:
        ScoringStopped: the run was cancelled; every block measured until then is stored.
    """
    n = len(run.prepared.task.splits[split])
    blocks = arrangement(n, run.prepared.spec.engine.batch_size, 0)
    missing = [(label, number) for label in labels for number in _missing(run, split, label, len(blocks))]
    if missing:
        run.engine.set_weights(None)
    for done, (label, number) in enumerate(missing):
        if run.cancelled():
            raise ScoringStopped(
                f"labels on {split}: stopped with {len(missing) - done} blocks left",
                hint="run it again to continue; nothing measured is repeated",
            )
        run.store.put(_measured(run, split, label, number, blocks[number]))
        progress = {"phase": phase, "split": split, "done": done + 1, "total": len(missing)}
        run.emit("phase.progress", progress)
    return np.array([run.store.vector(_key(label), split, n).values for label in labels])


def _key(label: str) -> str:
    return f"base~label-{hashlib.blake2b(label.encode(), digest_size=6).hexdigest()}"


def _missing(run: Run, split: str, label: str, blocks: int) -> list[int]:
    run.store.add_candidate(_key(label), None, {"likelihood": label})
    stored = run.store.blocks(_key(label), split)
    return [number for number in range(blocks) if number not in stored]


def _measured(run: Run, split: str, label: str, number: int, prompts: Sequence[int]) -> Block:
    task = run.prepared.task
    messages = [task.messages(task.splits[split][at]) for at in prompts]
    begun = time.monotonic()
    scores = run.engine.score(messages, [label] * len(messages))
    return Block(
        _key(label),
        split,
        number,
        np.array([sum(tokens) for tokens in scores], np.float64),
        np.ones(len(scores), np.bool_),
        np.zeros(len(scores), np.bool_),  # nothing is answered that could pass
        np.array([len(tokens) for tokens in scores], np.int32),
        (label,) * len(scores),
        time.monotonic() - begun,
    )
