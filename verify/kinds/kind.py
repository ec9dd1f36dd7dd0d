"""The part that every kind of verifier shares: parameters, limits and the conversion of failures."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from verify.verdict import Fault, Item, Verdict

Components = Mapping[str, float]


class Ungradable(Exception):
    """Raised inside a kind when no score can be given; becomes a verdict that is not valid."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Grade:
    """What a kind gives: `value` drives a search, `success` decides a gate.

    A kind whose value pays for more than being right (format, closeness, length) says `success` itself; for
    the others None is enough: a success is then a value that reaches the task's `pass_threshold`.
    """

    value: float
    components: Components = field(default_factory=dict)
    success: bool | None = None


def graded(right: bool, **components: bool) -> Grade:
    """A pass or fail with its parts."""
    return Grade(float(right), {name: float(part) for name, part in components.items()})


class Kind(BaseModel):
    """A verifier: its parameters are the model's fields, `grade` is what it does.

    Parameters are strict: `"1"` is no number and `1` is no boolean.
    """

    # defer_build: a kind's schema is built when the kind is first used, not at `import verify`
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)
    kind: ClassVar[str]

    max_chars: int = Field(
        default=32_768, ge=1, le=1_000_000, description="characters of a completion that are read"
    )

    @property
    def params(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)

    @property
    def fields(self) -> tuple[str, ...]:
        return ()

    @property
    def format_strict(self) -> bool:
        """Whether a right answer with `Answer:` or white space around it may be wrong."""
        return False

    @property
    def control(self) -> bool:
        """Whether passing has nothing to do with answers, so that no probe of scores can hold."""
        return False

    @property
    def probe_rows(self) -> int:
        """Rows that are enough for a probe that knows no answer; fewer where a verdict is expensive."""
        return 128

    @abstractmethod
    def grade(self, item: Item, completion: str) -> Grade:
        """What the completion is worth; any exception becomes a verdict that is not valid."""

    def oracle(self, item: Item) -> str | None:
        answer = item.get("answer")
        return None if answer is None else str(answer)

    def extract(self, item: Item, completion: str) -> str | None:
        """The answer in one spelling; here the text itself, and none where it is blank."""
        return completion if completion.strip() else None

    def answer(self, item: Item, completion: str) -> str | None:
        """What the completion answers, in one spelling; None where it gives no answer. Never raises."""
        try:
            return self.extract(item, completion[: self.max_chars])
        except Exception:  # what cannot be judged is no answer either; its verdict says why
            return None

    def close(self) -> None:
        """Ends what the verifier started; most start nothing."""

    def __call__(self, item: Item, completion: str) -> Verdict:
        return self._verdict(completion, lambda text: self.grade(item, text))

    def _verdict(self, completion: object, work: Callable[[str], Grade]) -> Verdict:
        started = time.perf_counter()
        grade, error, detail = self._attempt(completion, work)
        return Verdict(
            value=grade.value,
            valid=error is None,
            components=grade.components,
            error=error,
            latency_ms=(time.perf_counter() - started) * 1e3,
            detail=detail,
            success=grade.success,
        )

    def _attempt(self, completion: object, work: Callable[[str], Grade]) -> tuple[Grade, str | None, str]:
        try:
            if not isinstance(completion, str):
                raise Ungradable(Fault.COMPLETION, f"the completion is {type(completion).__name__}, not text")
            grade = work(completion[: self.max_chars])
            if not all(map(math.isfinite, (grade.value, *grade.components.values()))):
                raise Ungradable(Fault.NOT_FINITE, f"the score came out as {grade.value}")
            return grade, None, ""
        except Ungradable as fault:
            return Grade(0.0), fault.fault.value, str(fault)
        except Exception as error:  # the contract: a verifier's failure is never a silent 0
            return Grade(0.0), Fault.EXCEPTION.value, f"{type(error).__name__}: {error}"


def read(item: Item, name: str) -> Any:
    """The item's field, which must be there and not null."""
    value = item.get(name)
    if value is None:
        raise Ungradable(Fault.ITEM_FIELD, f"the item has no field {name!r}")
    return value


def read_text(item: Item, name: str) -> str:
    """The item's field as text: a string that is not blank, or a number or boolean as Python prints it."""
    value = read(item, name)
    if not isinstance(value, str | int | float) or not str(value).strip():
        raise Ungradable(
            Fault.ITEM_VALUE, f"the item's {name!r} is {describe(value)}, not a text to compare with"
        )
    return str(value)


def describe(value: object) -> str:
    """A value for an error message: short, on one line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
