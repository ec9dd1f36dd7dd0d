"""A task: rows in four disjoint splits, how to ask, how to judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from verify.data import SPLITS, DataSpec, GeneratorSource, RowsSource, SplitSources
from verify.errors import TaskInvalid
from verify.hackability import Allowance, Report
from verify.kinds.logprob import Logprob
from verify.prompt import Message, PromptSpec
from verify.registry import verifier
from verify.splits import Splitter
from verify.strict_json import canonical
from verify.verdict import Item, Verdict, Verifier
from verify.wording import describe

__all__ = ["SPLITS", "SplitCounts", "Task", "TaskSpec", "load_task", "parse_task"]

# Raised whenever a verifier or the prompt's rendering changes what it gives for the same input:
# stored scores of older code then belong to another task.
SCORING_VERSION = 1

Count = Annotated[int, Field(ge=1, le=1_000_000)]


class SplitCounts(BaseModel):
    """Rows per split: candidates are scored on support, steps sized on select; gate and test are held out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    support: Count
    select: Count
    gate: Count
    test: Count


class TaskSpec(BaseModel):
    """What a task file or an API object says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]*$")
    data: DataSpec
    prompt: PromptSpec
    verifier: dict[str, JsonValue] = Field(description="kind and its parameters")
    splits: SplitCounts
    seed: int = Field(default=0, ge=0, lt=2**63, description="of the shuffle that deals rows to splits")
    max_new_tokens: int = Field(default=64, ge=1, le=32_768, description="longest completion in tokens")
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), max_length=16, description="strings that end a completion"
    )
    pass_threshold: float = Field(
        default=1.0, allow_inf_nan=False, description="a completion succeeds from this value on"
    )
    allow: Allowance = Field(default=Allowance(), description="what is said openly about the verifier")

    @field_validator("verifier")
    @classmethod
    def _known(cls, params: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Raises VerifierUnknown and VerifierInvalid as they are: they say more than a field error would."""
        if not isinstance(params.get("kind"), str):
            raise ValueError("needs a kind, for example {kind: exact}")
        _verifier(params).close()
        return params

    @field_validator("data")
    @classmethod
    def _generates(cls, data: DataSpec) -> DataSpec:
        """Raises TaskInvalid for a generator's unknown name or parameters."""
        sources = [getattr(data, name) for name in SPLITS] if isinstance(data, SplitSources) else [data]
        for source in sources:
            if isinstance(source, GeneratorSource):
                source.family()
        return data

    @model_validator(mode="after")
    def _passable(self) -> TaskSpec:
        """Raises TaskInvalid where no log-probability reaches the pass mark."""
        if self.verifier["kind"] != Logprob.kind:
            return self
        judge = _verifier(self.verifier)
        assert isinstance(judge, Logprob)
        if judge.choices is None and self.pass_threshold >= 0:
            raise TaskInvalid(
                f"a log-probability lies below 0; none reaches pass_threshold {self.pass_threshold:g}",
                hint="state pass_threshold in nats, for example -0.7, or the verifier's choices",
            )
        return self


@dataclass(frozen=True)
class Task:
    """A task whose rows have been read, dealt to splits and found disjoint."""

    name: str
    splits: Mapping[str, tuple[Item, ...]]
    verifier: Verifier
    max_new_tokens: int
    stop: tuple[str, ...]
    pass_threshold: float
    digest: str
    """SHA-256 over all that can change a score: rows in order, prompt, verifier, limits, pass mark."""
    spec: TaskSpec

    def messages(self, item: Item) -> list[Message]:
        """The conversation that asks for this item."""
        return self.spec.prompt.messages(item)

    def succeeds(self, verdict: Verdict) -> bool:
        """Whether a completion counts as a success: the verifier's own word, else a value at the pass mark.

        A verdict that is not valid is never a success.
        """
        reached = verdict.value >= self.pass_threshold if verdict.success is None else verdict.success
        return verdict.valid and reached

    def check(self) -> Report:
        """Tries to fool the verifier on the task's own rows; docs/verify-task.md describes the probes.

        Raises:
            VerifierRejected: it can be fooled, fails, or cannot judge the rows; the error names probe, input
                and score.
        """
        from verify.hackability.examination import examine

        report = examine(self)
        report.require()
        return report

    def inline(self) -> TaskSpec:
        """A spec with these very rows written into it: loads to the same digest without any file."""
        sources = {name: RowsSource(rows=tuple(map(dict, items))) for name, items in self.splits.items()}
        return self.spec.model_copy(update={"data": SplitSources(**sources)})

    def close(self) -> None:
        """Ends the verifier's helpers."""
        self.verifier.close()


def load_task(spec: TaskSpec, folder: Path) -> Task:
    """Reads the data, deals them to the splits and makes the verifier.

    Args:
        folder: what relative JSONL paths are relative to.

    Raises:
        DataUnusable: data missing, malformed or without the template's fields.
        TooFewRows: fewer distinct rows than the splits ask for.
        SplitOverlap: two splits' sources hold the same content.
    """
    judge = _verifier(spec.verifier)
    splitter = Splitter(spec.prompt, judge.fields, seed=spec.seed, folder=folder)
    counts = spec.splits.model_dump()
    if isinstance(spec.data, SplitSources):
        splits = splitter.separate({name: getattr(spec.data, name) for name in SPLITS}, counts)
    else:
        splits = splitter.shared(spec.data, counts)
    return Task(
        name=spec.name,
        splits=splits,
        verifier=judge,
        max_new_tokens=spec.max_new_tokens,
        stop=spec.stop,
        pass_threshold=spec.pass_threshold,
        digest=_digest(spec, splits, judge),
        spec=spec,
    )


def parse_task(data: object, where: str = "task") -> TaskSpec:
    """A validated spec from plain data.

    Args:
        data: what YAML or JSON gave.
        where: what to call it in an error, for example the file's name.

    Raises:
        TaskInvalid: with every wrong field and why.
        VerifierUnknown, VerifierInvalid: the verifier's kind or parameters.
    """
    try:
        return TaskSpec.model_validate(data)
    except ValidationError as error:
        problems = describe(error, data, "task", TaskSpec)
        raise TaskInvalid(f"{where}: {problems}", hint="docs/tasks.md describes the fields") from None


def _verifier(params: Mapping[str, Any]) -> Verifier:
    return verifier(params["kind"], **{name: value for name, value in params.items() if name != "kind"})


def _digest(spec: TaskSpec, splits: Mapping[str, tuple[Item, ...]], judge: Verifier) -> str:
    content = {
        "scoring": SCORING_VERSION,
        "splits": {name: list(items) for name, items in splits.items()},
        "prompt": spec.prompt.model_dump(mode="json"),
        "verifier": {"kind": judge.kind, **judge.params},
        "max_new_tokens": spec.max_new_tokens,
        "stop": list(spec.stop),
        "pass_threshold": spec.pass_threshold,
    }
    return sha256(canonical(content)).hexdigest()
