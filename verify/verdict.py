"""What a verifier says about one completion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

Item = Mapping[str, Any]


class Fault(StrEnum):
    """Why a verdict is not valid. A wrong answer is none of these: it is a valid verdict of 0."""

    COMPLETION = "completion"  # not a string
    ITEM_FIELD = "item_field"  # the item lacks a field the verifier reads
    ITEM_VALUE = "item_value"  # the field is there and makes no sense
    NOT_FINITE = "not_finite"  # the verifier computed NaN or an infinity
    TIMEOUT = "timeout"  # stopped at its time limit
    LOGPROBS = "logprobs"  # the verifier needs an engine's log-probabilities and was given none
    PROCESS = "process"  # the child process that does the work cannot be kept alive
    RESULT = "result"  # a user's grader gave something that is no score
    NOT_APPLICABLE = "not_applicable"  # a user's grader says that it does not judge this row
    EXCEPTION = "exception"  # anything else that was raised


@dataclass(frozen=True, slots=True)
class Verdict:
    """One completion's score.

    `value` counts only where `valid` is true; a verifier that fails says so instead of scoring 0.
    `success` is the kind's own strict judgement, kept apart from a shaped `value`; None leaves it to the
    task's pass mark. `error` is a `Fault` or None, `detail` the sentence behind it. Equality ignores the
    latency.
    """

    value: float
    valid: bool
    components: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None
    latency_ms: float = field(default=0.0, compare=False)
    detail: str = ""
    success: bool | None = None


class Verifier(Protocol):
    """A pure, deterministic, thread-safe judge. `verify.verifier(kind, **params)` makes one."""

    @property
    def kind(self) -> str: ...

    @property
    def params(self) -> Mapping[str, Any]:
        """Every parameter, defaults included, as JSON."""
        ...

    @property
    def fields(self) -> tuple[str, ...]:
        """The item fields that decide a verdict."""
        ...

    @property
    def format_strict(self) -> bool:
        """Whether a right answer with `Answer:` or white space around it may be wrong."""
        ...

    @property
    def control(self) -> bool:
        """Whether passing has nothing to do with answers."""
        ...

    @property
    def probe_rows(self) -> int:
        """Rows that are enough for a probe that knows no answer."""
        ...

    def __call__(self, item: Item, completion: str) -> Verdict: ...

    def oracle(self, item: Item) -> str | None:
        """A completion that should pass, where the item holds one."""
        ...

    def answer(self, item: Item, completion: str) -> str | None:
        """What the completion answers, in one spelling; None where it gives no answer.

        Completions of one item with the same answer get the same value, so answers can be counted as votes.
        It is read from the completion alone: the item's right answer plays no part in it.
        """
        ...

    def close(self) -> None: ...
