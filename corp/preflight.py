"""Everything that can be refused before the first expensive step."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from corp.errors import DiskFull, OutputUnusable, RunChanged, SpecInvalid
from corp.gatecheck import check_size, load_guards, outlook
from corp.lock import LOCK
from corp.operators import operator
from corp.spec import GuardSpec, JobSpec
from corp.verifiercheck import Examined, store, summary
from population.checkpoint import Checkpoint, resolve
from population.direction import Law
from population.engines.placement import compute_dtype, cores, find_device
from population.errors import ModelUnsupported
from population.proposal import Candidate, isotropic
from population.publish import publish_json
from population.scaletable import scale_table
from population.scope import select
from verify.hackability import Report
from verify.kinds.likelihood import Likelihood
from verify.task import Task, load_task

MERGES = ("ties", "dare")
"""Operators whose directions have no algebra."""

WITHOUT_ELITES = ("es", "top1", "greedy", "corp_paper_code")
"""Operators that do without consolidate.min_elites."""

MARGIN = 64 * 2**20
"""Bytes kept free beside what a job plans to write: logs, scores, the file system's own needs."""


@dataclass(frozen=True)
class Prepared:
    """A job whose every part was found and fits together."""

    spec: JobSpec
    task: Task
    checkpoint: Checkpoint
    law: Law
    report: Report
    guards: tuple[Task, ...] = ()
    examined: Examined = field(default_factory=Examined)

    def close(self) -> None:
        """End the verifiers' helpers."""
        for task in (self.task, *self.guards):
            task.close()

    def population(self, sigmas: Sequence[float]) -> tuple[Candidate, ...]:
        """The candidates that the spec samples at these levels of σ."""
        return isotropic(self.spec.searched(), sigmas, self.spec.population.seed, self.law)

    def facts(self) -> dict[str, object]:
        """What the preflight phase puts on record."""
        sizes = {split: len(items) for split, items in self.task.splits.items()}
        guards = {guard.name: len(guard.splits["gate"]) for guard in self.guards}
        return {
            "task": self.task.name,
            "task_digest": self.task.digest,
            "splits": sizes,
            "parameters": sum(tensor.size for tensor in self.checkpoint.tensors.values()),
            "perturbed": self.perturbed(),
            "sigmas": self.sigmas(),
            "verifier": summary(self.report),
            **({"guards": guards} if guards else {}),
            **outlook(self.spec.final_gate(), sizes["gate"]),
        }

    def sigmas(self) -> str | list[float]:
        """The levels of σ, or how they will be found."""
        stated = self.spec.population.sigmas
        if stated != "auto":
            return list(stated)
        target, count = self.spec.calibrate.target, len(self.spec.calibrate.levels)
        return f"{count} levels, calibrated after the baseline to {target:g} nats of KL per answer token"

    def perturbed(self) -> int:
        """Number of weights in the law's scope."""
        names = select(self.checkpoint.tensors, self.law.scope)
        return sum(self.checkpoint.tensors[name].size for name in names)


def assemble(spec: JobSpec, folder: Path, target: Path | None = None) -> Prepared:
    """Find and check model, task, population and operators; no model is loaded.

    Args:
        spec: the job.
        folder: what relative data paths of the task start from.
        target: run directory; verifiers that it has a report on are not examined again.

    Raises:
        CorpError: the first thing that is wrong.
    """
    checkpoint = Checkpoint.open(resolve(spec.model, spec.revision))
    _check_engine(spec, checkpoint)
    law = Law(
        kind="full" if spec.population.rank is None else "lowrank",
        rank=spec.population.rank,
        scope=spec.population.scope,
        scheme=spec.population.scheme,
    )
    select(checkpoint.tensors, law.scope)
    isotropic(spec.searched(), spec.levels(), spec.population.seed, law)
    for name in spec.consolidate.operators:
        operator(name)
    _check_merges(spec)
    _check_elites(spec)
    task = load_task(spec.task, folder)
    _check_samples(spec, task)
    check_size(spec.gate, len(task.splits["gate"]))
    examined = Examined(target)
    report = examined.report(task)
    return Prepared(spec, task, checkpoint, law, report, load_guards(spec, folder, examined), examined)


def _check_samples(spec: JobSpec, task: Task) -> None:
    judge = task.verifier
    if spec.gate.samples > 1 and isinstance(judge, Likelihood) and not judge.reads_completion:
        raise SpecInvalid(
            f"gate.samples is {spec.gate.samples}, but verifier {judge.kind} reads no completion that could"
            " be drawn",
            hint="set gate.samples to 1",
        )


def _check_merges(spec: JobSpec) -> None:
    """Recentering adds steps up."""
    merged = [name for name in spec.consolidate.operators if name in MERGES]
    if merged and spec.recenter.mode != "off":
        raise SpecInvalid(
            f"recenter.mode is {spec.recenter.mode}, but no step can be added to what {merged[0]} makes",
            hint="leave it out of consolidate.operators, or set recenter.mode to off",
        )


def _check_elites(spec: JobSpec) -> None:
    """Every population has to leave the operators their elites, ties aside."""
    settings = spec.consolidate
    size, q = smallest_population(spec), min(settings.q)
    least = size - math.ceil(q * (size - 1))
    selective = [name for name in settings.operators if name not in WITHOUT_ELITES]
    if selective and least < settings.min_elites:
        raise SpecInvalid(
            f"a population of {size} leaves {selective[0]} {least} elites at q = {q:g}, fewer than"
            f" consolidate.min_elites = {settings.min_elites}",
            hint="take a larger population or fewer rounds, or lower consolidate.q or min_elites",
        )


def smallest_population(spec: JobSpec) -> int:
    """Candidates of the smallest population that is consolidated."""
    if spec.recenter.mode == "off":
        return spec.population.size
    if spec.recenter.mode == "local":
        return min(spec.population.size, spec.recenter.population)
    return spec.population.size // spec.recenter.rounds


def _check_engine(spec: JobSpec, checkpoint: Checkpoint) -> None:
    """What the engine would refuse after loading the model: device, dtype, answers beyond the context."""
    engine = spec.engine
    if engine.device == "cuda":  # only this question needs torch
        find_device(engine.device)
    compute_dtype(engine.compute, engine.storage or checkpoint.storage, "cpu")
    context = checkpoint.config.get("max_position_embeddings")
    if isinstance(context, int) and spec.task.max_new_tokens >= context:
        raise ModelUnsupported(
            f"task.max_new_tokens is {spec.task.max_new_tokens}; the model's context has {context} tokens",
            hint="lower it, so that prompt and answer fit together",
        )


def claim(target: Path) -> None:
    """Make ``target`` a directory that a run may use: new, empty, or a run already.

    Raises:
        OutputUnusable: it holds something else, or is not writable.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
        entries = os.listdir(target)
    except OSError as error:
        raise OutputUnusable(f"{target} cannot be used: {error.strerror}") from None
    others = [entry for entry in entries if entry != LOCK and not entry.startswith(".spec.json")]
    if others and "spec.json" not in others:
        raise OutputUnusable(
            f"{target} is not empty and holds no run ({others[0]} …)",
            hint="name a new directory, or the directory of the run to resume",
        )
    if not os.access(target, os.W_OK | os.X_OK):
        raise OutputUnusable(f"{target} is not writable", hint="choose a directory you own")


def open_run(prepared: Prepared, target: Path) -> Prepared:
    """Start this job in the claimed ``target``, or find the same job in it; make sure the disk has room.

    The spec on disk is complete: data inline, the model's directory absolute, the thread count resolved,
    so that a resume or an audit needs nothing else. The law gets its scale table here: one that looks at the
    weights reads them all, too much for a request that only asks whether a job can run.

    Raises:
        OutputUnusable: its spec.json is none.
        RunChanged: a run of another spec.
        DiskFull: less room than the export needs.
    """
    resolved = _resolved(prepared)
    stored = target / "spec.json"
    if stored.exists():
        resolved = _same_run(stored, resolved, prepared.spec.engine.threads is None)
    else:
        _check_disk(prepared, target)
        publish_json(stored, resolved.model_dump(mode="json"))
    store(target, [prepared.examined.report(task) for task in (prepared.task, *prepared.guards)])
    return scaled(replace(prepared, spec=resolved))


def scaled(prepared: Prepared) -> Prepared:
    """The job with the scale table in its law, as its candidates are sampled; may read every weight."""
    scale = scale_table(prepared.checkpoint, prepared.spec.population.scale, prepared.law)
    return replace(prepared, law=replace(prepared.law, scale=scale))


def _resolved(prepared: Prepared) -> JobSpec:
    spec = prepared.spec
    model = str(Path(spec.model).resolve()) if Path(spec.model).is_dir() else spec.model
    engine = spec.engine.model_copy(update={"threads": spec.engine.threads or cores()})
    guards = tuple(
        GuardSpec(task=task.inline(), margin=guard.margin)
        for task, guard in zip(prepared.guards, spec.gate.guards, strict=True)
    )
    gate = spec.gate.model_copy(update={"guards": guards})
    return spec.model_copy(
        update={"model": model, "engine": engine, "gate": gate, "task": prepared.task.inline()}
    )


def _same_run(stored: Path, resolved: JobSpec, any_threads: bool) -> JobSpec:
    try:
        before = JobSpec.model_validate_json(stored.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise OutputUnusable(
            f"{stored} is not the spec of a run", hint="name another output directory"
        ) from None
    if any_threads:  # a resume on another machine keeps the thread count of the scores it has
        engine = resolved.engine.model_copy(update={"threads": before.engine.threads})
        resolved = resolved.model_copy(update={"engine": engine})
    changed = _difference(before.model_dump(mode="json"), resolved.model_dump(mode="json"))
    if changed:
        raise RunChanged(
            f"{stored.parent} holds a run of another spec: {'; '.join(changed)}",
            hint="name another output directory, or resume with the old spec",
        )
    return before


def _difference(before: Any, after: Any, path: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted({*before, *after})
        return [
            line
            for key in keys
            for line in _difference(before.get(key), after.get(key), f"{path}.{key}".strip("."))
        ]
    if before == after:
        return []
    return [f"{path}: {_short(before)} → {_short(after)}"]


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _check_disk(prepared: Prepared, target: Path) -> None:
    """Room for the export and for one direction of the line search's scratch file."""
    width = {"bfloat16": 2, "float16": 2, "float32": 4}[
        prepared.spec.engine.storage or prepared.checkpoint.storage
    ]
    size = sum(tensor.size for tensor in prepared.checkpoint.tensors.values())
    need = size * width + prepared.perturbed() * 4 + MARGIN
    free = shutil.disk_usage(target).free
    if free < need:
        raise DiskFull(
            f"{target} has {free / 1e9:.2f} GB free; the job needs {need / 1e9:.2f} GB",
            hint="free some space or name a directory on another disk",
        )
