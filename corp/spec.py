"""The one description of a job: YAML file, API body and command line flags are these fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from corp.errors import SpecInvalid
from corp.operators.settings import OperatorSettings, Positive
from corp.strict_yaml import loads
from verify.task import TaskSpec
from verify.wording import describe


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PopulationSpec(Section):
    """The perturbations that are sampled and scored on the support split."""

    size: int = Field(default=256, ge=2, le=100_000, description="number of candidates N")
    sigmas: tuple[Positive, ...] = Field(
        default=(0.0005, 0.001, 0.002), min_length=1, description="noise scales, balanced shares"
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="every candidate's seed derives from it")
    scheme: Literal["independent", "tied"] = Field(default="independent", description="noise scheme")
    scope: str | tuple[str, ...] = Field(
        default="all", description="preset (all, mlp, attention, no-norms, no-embeddings) or name patterns"
    )
    rank: int | None = Field(
        default=None, ge=1, le=512, description="low-rank noise of this rank; default full"
    )


class ConsolidateSpec(OperatorSettings):
    """Operators that turn scores into directions, and the line search on the select split."""

    operators: tuple[str, ...] = Field(
        default=("corp",), min_length=1, description="names from docs/operators.md"
    )


class EngineSpec(Section):
    """How the model is run. Everything here can change a score and belongs to a run's identity."""

    kind: Literal["torch"] = "torch"
    device: str = Field(default="auto", pattern=r"^(auto|cpu|cuda)$", description="auto, cpu or cuda")
    storage: Literal["bfloat16", "float16", "float32"] | None = Field(
        default=None, description="dtype the weights are rounded to and exported in; default the checkpoint's"
    )
    compute: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        default="auto", description="dtype of the arithmetic; auto takes float32 on a CPU without bf16 units"
    )
    batch_size: int = Field(default=128, ge=1, le=65_536, description="prompts per block")
    threads: int | None = Field(
        default=None, ge=1, le=1024, description="CPU threads; default physical cores"
    )


class GuardSpec(Section):
    """A task on which the accepted model must not be worse than the base."""

    task: TaskSpec = Field(description="its gate split is scored; in a YAML file also a task file's name")
    margin: float = Field(default=0.01, gt=0, lt=1, description="largest fall of the success rate accepted")


class GateSpec(Section):
    """The held-out decision."""

    policy: Literal["strict", "paper"] = Field(
        default="strict", description="strict tests at level alpha; paper accepts one standard error above 0"
    )
    alpha: float = Field(default=0.05, gt=0, lt=0.5, description="false-accept level over all looks")
    proposals: int = Field(
        default=1, ge=1, le=5, description="candidates registered for the gate, best on select first"
    )
    metric: Literal["success", "value"] = Field(
        default="success", description="what is compared: passes, or the verifier's graded values"
    )
    min_prompts: int = Field(default=30, ge=30, le=1_000_000, description="refuse a smaller gate split")
    guards: tuple[GuardSpec, ...] = Field(
        default=(), max_length=16, description="tasks that must not get worse"
    )

    @model_validator(mode="after")
    def _named_once(self) -> GateSpec:
        names = [guard.task.name for guard in self.guards]
        if len(set(names)) != len(names):
            raise ValueError(f"two guards are called {max(names, key=names.count)}")
        return self


class ExportSpec(Section):
    """The checkpoint that is written when the gate accepts."""

    shard_bytes: int = Field(default=5_000_000_000, ge=1_000_000, description="largest shard in bytes")


class JobSpec(Section):
    """A whole job: a base model, a task and how to search."""

    name: str = Field(default="job", min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]*$")
    model: str = Field(min_length=1, description="checkpoint directory or hub id")
    revision: str | None = Field(default=None, description="hub revision (a commit)")
    task: TaskSpec
    population: PopulationSpec = PopulationSpec()
    consolidate: ConsolidateSpec = ConsolidateSpec()
    engine: EngineSpec = EngineSpec()
    gate: GateSpec = GateSpec()
    export: ExportSpec = ExportSpec()

    @model_validator(mode="after")
    def _no_repeats(self) -> JobSpec:
        for label, values in (
            ("population.sigmas", self.population.sigmas),
            ("consolidate.q", self.consolidate.q),
            ("consolidate.scales", tuple(f"{scale:g}" for scale in self.consolidate.scales)),  # as in keys
        ):
            if len(set(values)) != len(values):
                raise ValueError(f"{label} names a value twice: {values}")
        return self


def parse(data: object, where: str) -> JobSpec:
    """A validated spec from plain data.

    Args:
        data: what YAML or JSON gave.
        where: what to call it in an error, for example the file's name.

    Raises:
        SpecInvalid: with every wrong field and why.
    """
    try:
        return JobSpec.model_validate(data)
    except ValidationError as error:
        problems = describe(error, data, "spec", JobSpec)
        raise SpecInvalid(f"{where}: {problems}", hint="see docs/spec.md for the fields") from None


def load_spec(path: Path) -> tuple[JobSpec, Path]:
    """The spec in a YAML file (``task`` inline or a file name) and the folder its data paths start from.

    Raises:
        SpecInvalid: unreadable, malformed, or a wrong field.
    """
    data = read_yaml(path)
    folder = path.parent
    if isinstance(data, dict) and isinstance(data.get("task"), str):
        task_file = folder / data["task"]
        data = {**data, "task": read_yaml(task_file)}
        folder = task_file.parent
    return parse(data, str(path)), folder.resolve()


def read_yaml(path: Path) -> Any:
    try:
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecInvalid(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SpecInvalid(f"{path} is not valid YAML: {error}") from None
