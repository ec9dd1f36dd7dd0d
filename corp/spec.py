"""The one description of a job: YAML file, API body and command line flags are these fields."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from corp.errors import SpecInvalid
from corp.operators.settings import OperatorSettings, Positive
from corp.taskfiles import read_yaml, with_guards
from verify.task import TaskSpec
from verify.wording import describe

SMALLEST_ROUND = 8
"""Fewer candidates than this have no weights worth the name: it is also the floor of the effective size."""


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Sigmas = Annotated[
    Annotated[Literal["auto"], Tag("auto")]
    | Annotated[tuple[Positive, ...], Field(min_length=1), Tag("levels")],
    Discriminator(lambda value: "auto" if isinstance(value, str) else "levels"),  # one complaint, not two
]


class PopulationSpec(Section):
    """The perturbations that are sampled and scored on the support split."""

    size: int = Field(default=256, ge=2, le=100_000, description="number of candidates N")
    sigmas: Sigmas = Field(
        default="auto", description="noise scales in balanced shares; auto: found by section calibrate"
    )
    scale: Literal["isotropic", "rms", "modular"] = Field(
        default="isotropic", description="how sigma is spread over the tensors, see docs/calibration.md"
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="every candidate's seed derives from it")
    scheme: Literal["independent", "tied"] = Field(default="independent", description="noise scheme")
    scope: str | tuple[str, ...] = Field(
        default="all", description="preset (all, mlp, attention, no-norms, no-embeddings) or name patterns"
    )
    rank: int | None = Field(
        default=None, ge=1, le=512, description="low-rank noise of this rank; default full"
    )


class CalibrateSpec(Section):
    """Noise scales by measurement, where population.sigmas is auto."""

    target: float = Field(
        default=0.05, gt=0, le=10, description="median symmetric KL to reach, nats per answer token"
    )
    prompts: int = Field(default=64, ge=1, le=4096, description="support prompts that it is measured on")
    probes: int = Field(
        default=5, ge=1, le=99, description="seeds that it is measured with, no members of the population"
    )
    levels: tuple[Positive, ...] = Field(
        default=(0.6, 1, 1.6), min_length=1, description="the levels, as factors on the sigma found"
    )
    outliers: float | None = Field(
        default=4, gt=1, le=1e6, description="KL over its level's median from which a candidate is dropped"
    )


class ConsolidateSpec(OperatorSettings):
    """Operators that turn scores into directions, and the line search on the select split."""

    operators: tuple[str, ...] = Field(
        default=("es", "corp"), min_length=1, description="names from docs/operators.md"
    )


class RecenterSpec(Section):
    """Search again around what was found (docs/recentering.md)."""

    mode: Literal["off", "local", "rounds"] = Field(
        default="off", description="rounds: split the population over rounds; local: CoRP's stage 2"
    )
    rounds: int = Field(
        default=3, ge=1, le=64, description="rounds: how many, the search included; local: attempts after it"
    )
    patience: int = Field(default=2, ge=1, le=64, description="rejections in a row that end it")
    anchor: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="pull towards the base: each new centre is (1 - anchor) of its sum",
    )
    z: float = Field(
        default=1.0, ge=0, le=10, description="standard errors by which a step has to win on select"
    )
    population: int = Field(default=100, ge=8, le=100_000, description="local: candidates per round")
    acceptances: int = Field(default=2, ge=1, le=64, description="local: accepted steps that end it")
    rank: int = Field(default=8, ge=1, le=256, description="local: leading dimensions kept of the cloud")
    iota: float = Field(default=0.5, gt=0, le=1, description="local: isotropic share of the first round")
    regress_weight: float = Field(
        default=2.0, ge=0, le=100, description="local: cost of a regression in units of a fix"
    )
    shortlist: int = Field(
        default=5, ge=1, le=100, description="local: proposals tried on the second half of support"
    )

    def further(self) -> int:
        """Most rounds after the search."""
        return {"off": 0, "local": self.rounds, "rounds": self.rounds - 1}[self.mode]


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
    looks: Literal["final", "rounds"] = Field(
        default="final", description="rounds: every step of recentering has to pass a look of its own too"
    )
    samples: int = Field(
        default=1, ge=1, le=64, description="answers per prompt; several are drawn and averaged per prompt"
    )
    temperature: float = Field(
        default=0.7, gt=0, le=10, allow_inf_nan=False, description="at which several samples are drawn"
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


class ControlsSpec(Section):
    """Rows that the result is read against, on the test split; nothing is chosen by them."""

    enabled: bool = Field(default=True, description="score them: about 2 k + 4 models on the test split")
    k: tuple[Annotated[int, Field(ge=2, le=1000)], ...] = Field(
        default=(8,), min_length=1, max_length=8, description="members of a vote, samples of the base"
    )
    temperature: float = Field(
        default=0.7, gt=0, le=10, allow_inf_nan=False, description="of the base's samples"
    )
    random: int = Field(default=3, ge=0, le=32, description="random merges of the chosen step's length")
    seed: int = Field(default=0, ge=0, lt=2**31, description="of the samples and the random merges")

    @model_validator(mode="after")
    def _once(self) -> ControlsSpec:
        if len(set(self.k)) != len(self.k):
            raise ValueError(f"k names a value twice: {self.k}")
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
    calibrate: CalibrateSpec = CalibrateSpec()
    consolidate: ConsolidateSpec = ConsolidateSpec()
    recenter: RecenterSpec = RecenterSpec()
    engine: EngineSpec = EngineSpec()
    gate: GateSpec = GateSpec()
    controls: ControlsSpec = ControlsSpec()
    export: ExportSpec = ExportSpec()

    def levels(self) -> tuple[float, ...]:
        """σ of the population's levels; where they are to be calibrated, factors on what will be found."""
        stated = self.population.sigmas
        return self.calibrate.levels if stated == "auto" else stated

    def searched(self) -> int:
        """How many candidates the search scores: all of them, or the first round's share."""
        rounds = self.recenter.rounds if self.recenter.mode == "rounds" else 1
        return -(-self.population.size // rounds)

    def final_gate(self) -> GateSpec:
        """The gate with what the looks of recentering leave of alpha if all of them are made."""
        looks = self.recenter.further() if self.gate.looks == "rounds" else 0
        return self.gate.model_copy(update={"alpha": self.gate.alpha / (looks + 1)})

    @model_validator(mode="after")
    def _rounds_fit(self) -> JobSpec:
        size, rounds = self.population.size, self.recenter.rounds
        least = max(SMALLEST_ROUND, len(self.levels()))
        if self.recenter.mode == "rounds" and size // rounds < least:
            raise ValueError(
                f"recenter.rounds = {rounds} leaves {size // rounds} of {size} candidates to a round;"
                f" at least {least} are needed"
            )
        return self

    @model_validator(mode="after")
    def _no_repeats(self) -> JobSpec:
        for label, values in (
            ("population.sigmas", () if self.population.sigmas == "auto" else self.population.sigmas),
            ("calibrate.levels", tuple(f"{level:.3g}" for level in self.calibrate.levels)),  # are rounded
            ("consolidate.operators", self.consolidate.operators),
            ("consolidate.q", self.consolidate.q),
            ("consolidate.scales", tuple(f"{scale:g}" for scale in self.consolidate.scales)),  # as in keys
            ("consolidate.radii", self.consolidate.radii),
        ):
            if len(set(values)) != len(values):
                raise ValueError(f"{label} names a value twice: {values}")
        return self

    @model_validator(mode="after")
    def _looks_hold_alpha(self) -> JobSpec:
        """Beyond this the worst case of `corp.gate.spending` is not covered."""
        if self.gate.looks == "rounds" and (self.recenter.further() > 3 or self.gate.proposals > 1):
            raise ValueError(
                "gate.looks: rounds holds gate.alpha for at most three rounds after the search and one"
                f" proposal; these are {self.recenter.further()} and {self.gate.proposals}"
            )
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
    if isinstance(data, dict):
        data = with_guards(data, path.parent)
    return parse(data, str(path)), folder.resolve()
