"""What one candidate answered on one block, and the verdicts on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from population.block import Block, Reason
from population.engines.engine import Engine, Prompt
from population.errors import EngineIncapable
from verify.kinds.likelihood import Likelihood, LogProbs
from verify.task import Task
from verify.verdict import Fault, Item, Verdict, Verifier

LOGPROBS = "logprobs"
"""The capability of an engine whose ``score`` gives log-probabilities."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Of n prompts.

    Attributes:
        texts: completions; empty ones where the verifier reads none.
        tokens: generated tokens of each.
        logprobs: per prompt what `Likelihood.continuations` asked for; empty for other verifiers.
        seconds: that all of it took.
    """

    texts: tuple[str, ...]
    tokens: tuple[int, ...]
    logprobs: tuple[LogProbs, ...] = ()
    seconds: float = 0.0


def require(engine: Engine, verifier: Verifier) -> None:
    """Refuse an engine that cannot do what the verifier needs.

    Raises:
        EngineIncapable: naming both.
    """
    if isinstance(verifier, Likelihood) and LOGPROBS not in engine.capabilities:
        raise EngineIncapable(
            f"verifier {verifier.kind} needs log-probabilities, which engine"
            f" {engine.identity.get('kind')} cannot give",
            hint="use the torch engine, or a verifier of the text",
        )


def likelihoods(
    engine: Engine, verifier: Likelihood, prompts: Sequence[Prompt], items: Sequence[Item]
) -> tuple[LogProbs, ...]:
    """What the verifier wants to know of each item, under the engine's weights of now, in one call."""
    asked = [verifier.asks(item) for item in items]
    found = iter(
        engine.score(
            [prompt for prompt, texts in zip(prompts, asked, strict=True) for _ in texts],
            [text for texts in asked for text in texts],
        )
    )
    return tuple([next(found) for _ in texts] for texts in asked)


def judged(task: Task, split: str, key: str, number: int, items: Sequence[Item], answers: Answers) -> Block:
    """The block of a candidate's answers."""
    verdicts = _verdicts(task.verifier, items, answers)
    faults = {at: reason for at, verdict in enumerate(verdicts) if (reason := _reason(verdict))}
    return Block(
        key,
        split,
        number,
        np.array([verdict.value for verdict in verdicts], np.float64),
        np.array([at not in faults for at in range(len(verdicts))], np.bool_),
        np.array([at not in faults and task.succeeds(one) for at, one in enumerate(verdicts)], np.bool_),
        np.array(answers.tokens, np.int32),
        _shown(task.verifier, items, answers),
        answers.seconds,
        faults,
    )


def amended(block: Block, again: Block) -> Block:
    """A block with the new verdicts of ``again`` on what could not be judged, and its own on the rest."""
    kept = block.valid
    return Block(
        block.candidate,
        block.split,
        block.number,
        np.where(kept, block.values, again.values),
        kept | again.valid,
        np.where(kept, block.success, again.success),
        block.tokens,
        block.texts,
        block.seconds,
        {at: again.faults[at] for at in block.faults if at in again.faults},
    )


def _verdicts(verifier: Verifier, items: Sequence[Item], answers: Answers) -> list[Verdict]:
    if not isinstance(verifier, Likelihood):
        return [verifier(item, text) for item, text in zip(items, answers.texts, strict=True)]
    rows = zip(items, answers.texts, answers.logprobs, strict=True)
    return [verifier.judge(item, text, logprobs) for item, text, logprobs in rows]


def _shown(verifier: Verifier, items: Sequence[Item], answers: Answers) -> tuple[str, ...]:
    if not isinstance(verifier, Likelihood) or verifier.reads_completion:
        return answers.texts
    rows = zip(items, answers.logprobs, strict=True)
    return tuple(verifier.says(item, logprobs) for item, logprobs in rows)


def _reason(verdict: Verdict) -> Reason | None:
    if not verdict.valid:
        return Reason(verdict.error or Fault.EXCEPTION, verdict.detail)
    if not math.isfinite(verdict.value):  # a verifier that is not ours
        return Reason(Fault.NOT_FINITE, f"the value is {verdict.value}")
    return None
