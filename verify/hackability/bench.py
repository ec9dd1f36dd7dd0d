"""A task's verifier together with the rows that it is tried on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verify.adapters.grader import Grader
from verify.kinds.likelihood import Likelihood
from verify.kinds.mixed import Mixed
from verify.verdict import Fault, Item, Verdict, Verifier

if TYPE_CHECKING:
    from verify.hackability.allowance import Allowance
    from verify.task import Task

ROWS = 128
"""Of the gate split: 100 tell a rate of 2 % from one of 0 in seven cases of eight."""
SHAPED = 0.5
"""Of full marks, what a kind that says success by itself may pay an answer that is not right."""
PATIENCE = 8
"""Verdicts in a row that came to a time limit or a dead process before the trial is given up."""
SECONDS = 60.0
"""Within which the probes that know no answer should be done, some 80 inputs a row."""
_INPUTS = 80
_FEWEST = 8
STUCK = (Fault.TIMEOUT, Fault.PROCESS)


class Stuck(Exception):
    """The verifier does not answer any more."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the gate split.

    Attributes:
        where: for messages.
        prompt: what the model is asked, last.
        oracle: a completion that should pass, where the row holds one.
        key: the oracle's answer in one spelling.
    """

    where: str
    item: Item
    prompt: str
    oracle: str | None
    key: str | None


@dataclass(frozen=True, slots=True)
class Score:
    """A verdict in full marks: 1.0 is what passes."""

    row: Row
    text: str
    value: float
    passed: bool
    shaped: bool
    verdict: Verdict


@dataclass
class Bench:
    """Judges completions of the rows and remembers what went wrong.

    Attributes:
        verifier: the one that reads completions.
        mark: value from which on a completion passes, where the verifier does not say.
        some: the rows for probes that know no answer, fewer where verdicts are slow.
    """

    verifier: Verifier
    mark: float
    allow: Allowance
    rows: tuple[Row, ...]
    some: tuple[Row, ...]
    faults: list[Score] = field(default_factory=list)
    judged: int = 0
    _silent: int = 0

    @classmethod
    def of(cls, task: Task, pace: float) -> Bench | None:
        """None where the verifier reads no completion.

        Args:
            pace: seconds that a verdict takes.
        """
        verifier, mark = task.verifier, task.pass_threshold
        if isinstance(verifier, Mixed):
            mark, verifier = verifier.threshold, verifier.inner
        elif isinstance(verifier, Likelihood):
            return None
        rows = tuple(_rows(task, verifier))
        affordable = max(_FEWEST, int(SECONDS / _INPUTS / pace)) if pace > 0 else ROWS
        some = rows[: min(affordable, verifier.probe_rows)]
        return cls(verifier, mark, task.spec.allow, rows, some)

    @property
    def majority(self) -> float | None:
        """Share of the commonest right answer; a blank one is none."""
        keys = [row.key for row in self.rows if row.key is not None]
        common = Counter(key for key in keys if key.strip()).most_common(1)
        return common[0][1] / len(keys) if common else None

    @property
    def chance(self) -> float:
        """What saying one thing may earn: the majority's share, or what the task allows."""
        return max(self.majority or 0.0, self.allow.constant or 0.0)

    def score(self, row: Row, text: str) -> Score:
        """Raises:
        Stuck: one verdict too many came to its time limit.
        """
        score = self.judge(row, text)
        self.judged += 1
        if score.verdict.error is not None and score.verdict.error != Fault.NOT_APPLICABLE:
            self.faults.append(score)
        self._silent = self._silent + 1 if score.verdict.error in STUCK else 0
        if self._silent >= PATIENCE:
            raise Stuck
        return score

    def judge(self, row: Row, text: str) -> Score:
        """The same without taking note of it; any thread may ask."""
        verdict = asked(self.verifier, row.item, text)
        if not verdict.valid:
            return Score(row, text, 0.0, False, False, verdict)
        if verdict.success is not None:
            return Score(row, text, verdict.value, verdict.success, True, verdict)
        passed = verdict.value >= self.mark
        value = verdict.value / self.mark if self.mark > 0 else float(passed)
        return Score(row, text, value, passed, False, verdict)


def _rows(task: Task, verifier: Verifier) -> Iterator[Row]:
    for number, item in enumerate(task.splits["gate"][:ROWS]):
        prompt = task.messages(item)[-1]["content"]
        oracle = oracle_of(verifier, item)
        key = None if oracle is None else _key(verifier, item, oracle)
        yield Row(f"gate row {number}", item, prompt, oracle, key)


def oracle_of(verifier: Verifier, item: Item) -> str | None:
    try:
        return verifier.oracle(item)
    except Exception:  # the item is at fault, and other verdicts on it say so
        return None


def _key(verifier: Verifier, item: Item, oracle: str) -> str:
    """A user's grader is not believed about which answers are the same."""
    answer = None if isinstance(verifier, Grader) else verifier.answer(item, oracle)
    return oracle.strip().casefold() if answer is None else answer


def asked(verifier: Verifier, item: Item, text: str) -> Verdict:
    try:
        return verifier(item, text)
    except Exception as error:  # no verifier may raise; one that does is reported, not followed
        detail = f"raised {type(error).__name__}: {error}"
        return Verdict(0.0, False, error=Fault.EXCEPTION.value, detail=detail)
