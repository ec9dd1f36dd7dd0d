"""New prompts answered by a vote of a finished search's best members."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corp.controls import ranking
from corp.ensemble import ballots, elect
from corp.errors import OutputUnusable, RunUnfinished
from corp.phases.run import Run
from corp.preflight import assemble, scaled
from corp.spec import JobSpec
from population.engines.engine import Sampling
from population.errors import ModelUnsupported
from verify.data import FileSource
from verify.errors import DataUnusable
from verify.prompt import Message
from verify.strict_json import canonical

if TYPE_CHECKING:
    from population.proposal import Candidate
    from verify.task import Task
    from verify.verdict import Item

PHASE = "ensemble"
BLOCKS = 2
"""Engine batches per chunk of questions: each costs K switches of the weights, and a kill loses one."""

Emit = Callable[[str, Mapping[str, object]], None]


@dataclass(frozen=True, slots=True)
class Question:
    """One prompt, and the fields that the verifier may need to read an answer to it."""

    messages: list[Message]
    item: Item


def open_run(directory: Path, emit: Emit) -> Run:
    """A run whose search has finished, for reading.

    Raises:
        OutputUnusable: the directory holds no run.
        RunUnfinished: its search has not finished.
        CorpError: model or task cannot be opened any more.
    """
    path = directory / "spec.json"
    try:
        spec = JobSpec.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise OutputUnusable(
            f"{directory} holds no run: spec.json is missing or none", hint="name the directory of a run"
        ) from None
    if not (directory / "search.json").exists():
        raise RunUnfinished(
            f"the search in {directory} has not finished, so its members have no ranks",
            hint="finish it first with the `corp run` that started it",
        )
    return Run(scaled(assemble(spec, directory, directory)), directory, emit, lambda: False)


def read_questions(path: Path, task: Task) -> list[Question]:
    """The prompts in a JSONL file: rows as the task's, or with ``messages`` of their own.

    Raises:
        DataUnusable: no such file, no rows, or a line that is neither; it is named.
    """
    if not path.is_file():
        raise DataUnusable(f"{path} is not a file", hint="name a JSONL file of prompts")
    rows = list(FileSource(path=str(path)).read(Path(), 0))
    if not rows:
        raise DataUnusable(f"{path} holds no prompts", hint="each line is one JSON object")
    return [_question(where, item, task) for where, item in rows]


def _question(where: str, item: dict[str, Any], task: Task) -> Question:
    if "messages" not in item:
        return Question(task.spec.prompt.messages(item, where), item)
    messages = item["messages"]
    if not isinstance(messages, list) or not messages or not all(map(_is_message, messages)):
        raise DataUnusable(
            f"{where}: 'messages' is not a list of messages",
            hint='write [{"role": "user", "content": "…"}], with the earlier turns before it',
        )
    return Question(messages, item)


def _is_message(value: object) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"role", "content"}
        and all(isinstance(part, str) for part in value.values())
        and bool(value["role"])
    )


class Ensemble:
    """The K best members of a run by their reward on support, each at its own σ."""

    def __init__(self, run: Run, k: int) -> None:
        self.run = run
        self.members: list[Candidate] = [
            run.population[index] for index in ranking(run.result("search")["rewards"], k)
        ]
        self.chunk = BLOCKS * run.prepared.spec.engine.batch_size

    def identity(self, questions: Sequence[Question]) -> str:
        """SHA-256 over what decides the answers, given the model: members, prompts, limits, verifier."""
        task = self.run.prepared.task
        content = [
            [[m.key, m.direction.to_json() if m.direction else None] for m in self.members],
            [[question.messages, dict(question.item)] for question in questions],
            [self.chunk, task.max_new_tokens, list(task.stop)],
            {"kind": task.verifier.kind, **task.verifier.params},
        ]
        return hashlib.sha256(canonical(json.loads(json.dumps(content)))).hexdigest()

    def answers(self, questions: Sequence[Question], first: int = 0) -> Iterator[list[dict[str, Any]]]:
        """Rows for a chunk of questions at a time, from question `first` on, the start of a chunk.

        Each row has ``prompt`` (its number from 1), ``answer`` (None where all abstain), ``completion``
        (the winning member's), ``votes``, ``cast`` and ``members`` (each one's answer, best ranked first).

        Raises:
            ModelUnsupported: a prompt that is too long, or roles that the chat template refuses.
        """
        for start in range(first, len(questions), self.chunk):
            part = questions[start : start + self.chunk]
            yield self._vote(part, start, self._completions(part, start, len(questions)))

    def _completions(self, part: Sequence[Question], start: int, total: int) -> list[list[str]]:
        task, engine = self.run.prepared.task, self.run.engine
        sampling = Sampling(task.max_new_tokens, stop=task.stop)
        texts = []
        for rank, member in enumerate(self.members):
            engine.set_weights(member.direction)
            try:
                found = engine.generate([question.messages for question in part], sampling)
            except ModelUnsupported as error:
                where = f"among prompts {start + 1} to {start + len(part)}, numbered from 0 here"
                raise ModelUnsupported(f"{where}, {error.detail}", hint=error.hint) from None
            texts.append([completion.text for completion in found])
            done = start * len(self.members) + (rank + 1) * len(part)
            progress = {"phase": PHASE, "done": done, "total": total * len(self.members)}
            self.run.emit("phase.progress", progress)
        return texts

    def _vote(self, part: Sequence[Question], start: int, texts: list[list[str]]) -> list[dict[str, Any]]:
        keys = [member.key for member in self.members]
        votes = ballots(self.run.prepared.task.verifier, [question.item for question in part], texts)
        rows = []
        for at, ballot in enumerate(votes):
            election = elect(ballot)
            rows.append(
                {
                    "prompt": start + at + 1,
                    "answer": election.answer,
                    "completion": texts[election.winner][at],
                    "votes": election.votes,
                    "cast": election.cast,
                    "members": dict(zip(keys, ballot, strict=True)),
                }
            )
        return rows
