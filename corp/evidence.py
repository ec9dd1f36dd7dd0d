"""What the gate leaves for an auditor: task, engine settings and the scores of the accepted weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from corp.errors import AuditFailed
from corp.spec import EngineSpec
from population.publish import publish_bytes
from verify.errors import CorpError
from verify.task import TaskSpec
from verify.wording import describe

NAME = "gate-evidence.json"


Outcome = tuple[float, bool] | None
"""The verifier's value and whether the prompt is passed; None where it could not judge."""


def outcomes(values: Iterable[float | None], valid: Iterable[bool], success: Iterable[bool]) -> list[Outcome]:
    """One comparable outcome per prompt."""
    rows = zip(values, valid, success, strict=True)
    return [(value, passed) if judged and value is not None else None for value, judged, passed in rows]


class GateEvidence(BaseModel):
    """The gate split's scores of the weights that were accepted.

    Attributes:
        task: with its rows inline, so that no other file is needed.
        engine: settings; ``batch_size`` is also the size of the blocks that were scored together.
        identity: what the engine said of itself: versions, threads, device.
        values: the verifier's value per gate prompt; null where it could not judge.
        valid: whether it could.
        success: whether the prompt is passed.
        texts: the completions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: TaskSpec
    engine: EngineSpec
    identity: dict[str, str]
    values: Annotated[tuple[float | None, ...], Field(min_length=1)]
    valid: tuple[bool, ...]
    success: tuple[bool, ...]
    texts: tuple[str, ...]

    @field_validator("values", mode="before")
    @classmethod
    def _finite(cls, values: Any) -> Any:
        """JSON has no NaN: a value that is no number says as little as none."""
        if not isinstance(values, list | tuple):
            return values
        return [None if isinstance(value, float) and not math.isfinite(value) else value for value in values]

    @model_validator(mode="after")
    def _one_of_each(self) -> GateEvidence:
        lengths = len(self.values), len(self.valid), len(self.success), len(self.texts)
        if set(lengths) != {self.task.splits.gate}:
            raise ValueError(
                f"{lengths[0]} values, {lengths[1]} verdicts, {lengths[2]} successes and {lengths[3]} texts"
                f" for {self.task.splits.gate} gate prompts"
            )
        return self

    def write(self, path: Path) -> None:
        publish_bytes(path, f"{self.model_dump_json()}\n".encode())

    @classmethod
    def read(cls, path: Path) -> GateEvidence:
        """The evidence in a file.

        Raises:
            AuditFailed: it cannot be read or is no evidence.
        """
        hint = "name the gate-evidence.json of the run"
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise AuditFailed(f"{path} cannot be read: {error.strerror}", hint=hint) from None
        except ValidationError as error:
            problems = describe(error, None, "evidence")
            raise AuditFailed(f"{path} is not evidence of a gate: {problems}", hint=hint) from None
        except CorpError as error:  # of the task inside
            raise AuditFailed(f"{path}: {error.detail}", hint=error.hint) from None

    def outcomes(self) -> list[Outcome]:
        """What to compare prompt by prompt."""
        return outcomes(self.values, self.valid, self.success)
