"""Proof that an exported checkpoint is what its recipe says and scores what passed the gate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from corp import evidence as evidences
from corp.errors import AuditFailed
from corp.evidence import GateEvidence as GateEvidence
from corp.inspection import inspect, report
from corp.manifest import NAME as MANIFEST
from corp.realise import Realised
from corp.recipe import NAME, Recipe
from corp.rescore import rescore
from corp.sidecars import sidecars
from population.checkpoint import INDEX, Checkpoint, resolve
from population.errors import ModelMissing
from population.header import open_plain
from population.tensors import bits

STEPS = 20  # progress events at most, whatever the number of tensors
Emit = Callable[[str, Mapping[str, object]], None]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What was checked; nothing of it differed, or AuditFailed would have been raised.

    Attributes:
        recipe: SHA-256 of recipe.json.
        files: whose size and SHA-256 equal the manifest's.
        bytes: in those files.
        tensors: rebuilt from base and recipe, equal bit for bit.
        prompts: of the gate, scored again with the same values; None without evidence.
        texts_differing: of those, completions that are worded differently.
    """

    recipe: str
    files: int
    bytes: int
    tensors: int
    prompts: int | None
    texts_differing: int | None

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def audit(
    directory: Path, *, base: Path | None = None, evidence: Path | None = None, emit: Emit, threads: int = 1
) -> AuditReport:
    """Check ``directory`` against its manifest, its recipe with the base, and the gate's scores.

    Args:
        base: directory of the base model; default, the model of the run around ``directory``, else the
            recipe's hub id.
        evidence: the gate's; default, gate-evidence.json beside ``directory``, and where there is none the
            scores are not checked.
        emit: called with ``log`` and ``phase.progress`` events.
        threads: most threads that make noise.

    Raises:
        AuditFailed: anything differs, or the evidence cannot be read.
        RecipeInvalid: recipe.json is damaged.
        ModelMissing: no base.
    """
    checkpoint, recipe, manifest = inspect(directory)
    size = sum(entry.size for entry in manifest.files.values())
    emit("log", {"message": f"{len(manifest.files)} files ({size / 1e6:,.1f} MB) equal the manifest"})
    compare(checkpoint, recipe, open_base(directory, recipe, base), emit, threads=threads)
    emit("log", {"message": f"{len(recipe.tensors)} tensors rebuilt from base and recipe: equal bit for bit"})
    evidence = evidence or _beside(directory)
    if evidence is None:
        emit("log", {"message": "no gate evidence: the scores were not checked"})
        return AuditReport(recipe.digest(), len(manifest.files), size, len(recipe.tensors), None, None)
    emit("log", {"message": "scoring the gate's prompts again in a fresh process"})
    scored = rescore(directory, evidence)
    emit("log", {"message": f"{scored.prompts} gate prompts score what they scored"})
    return AuditReport(
        recipe.digest(), len(manifest.files), size, len(recipe.tensors), scored.prompts, scored.texts
    )


def compare(
    checkpoint: Checkpoint, recipe: Recipe, base: Checkpoint, emit: Emit, *, threads: int = 1
) -> None:
    """Rebuild every file but the card from ``base`` and ``recipe`` and compare, tensors bit by bit.

    Raises:
        AuditFailed: naming the base's files, the exported files or the tensors that differ.
    """
    _check_base(base, recipe)
    report(checkpoint.path, _compare_sidecars(checkpoint, recipe, base))
    realised = Realised(base, recipe.direction, recipe.storage, threads=threads)
    problems, total = [], len(recipe.tensors)
    for done, name in enumerate(recipe.tensors, start=1):
        problem = _compare_tensor(checkpoint, recipe, base, realised, name)
        if problem:
            problems.append(problem)
        if done * STEPS // total > (done - 1) * STEPS // total:
            emit("phase.progress", {"phase": "audit", "done": done, "total": total})
    report(checkpoint.path, problems)


def open_base(directory: Path, recipe: Recipe, named: Path | None) -> Checkpoint:
    """The base checkpoint: named, or of the run that ``directory`` lies in, or the recipe's hub id.

    Raises:
        ModelMissing: none of them is there.
    """
    if named is not None:
        return Checkpoint.open(named)
    candidates = [*_run_model(directory), (recipe.base.id, recipe.base.revision)]
    for model, revision in candidates:
        try:
            return Checkpoint.open(resolve(model, revision))
        except ModelMissing:
            continue
    raise ModelMissing(
        f"the base model {recipe.base.id} of {directory} was not found"
        f" (tried {', '.join(model for model, _ in candidates)})",
        hint="name its directory with --base",
    )


def _check_base(base: Checkpoint, recipe: Recipe) -> None:
    found = base.digests()
    wrong = sorted(
        name for name in found.keys() | recipe.base.files if found.get(name) != recipe.base.files.get(name)
    )
    if wrong:
        raise AuditFailed(
            f"{base.path} is not the base of this recipe: {', '.join(wrong)} differ",
            hint=f"name the directory of {recipe.base.id} with --base",
        )


def _compare_sidecars(checkpoint: Checkpoint, recipe: Recipe, base: Checkpoint) -> list[str]:
    """Configuration, tokenizer and templates that the base does not give."""
    expected = sidecars(base, recipe.storage)
    own = {*checkpoint.files, INDEX, "README.md", NAME, MANIFEST}
    found = {path.name: path for path in checkpoint.path.iterdir() if path.name not in own}
    return [
        f"{name} is not what {base.path} gives"
        for name in sorted(expected.keys() | found.keys())
        if name not in expected or name not in found or found[name].read_bytes() != expected[name]
    ]


def _compare_tensor(
    checkpoint: Checkpoint, recipe: Recipe, base: Checkpoint, realised: Realised, name: str
) -> str:
    """What is wrong with a tensor, or nothing."""
    info = checkpoint.tensors[name]
    if name not in base.tensors or base.tensors[name].shape != info.shape:
        return f"tensor {name} has the shape {info.shape}, the base has none of that name and shape"
    state, different = hashlib.sha256(), 0
    for start, values in realised.chunks(name):
        stored = checkpoint.read(name, start, start + values.size)
        different += int(np.count_nonzero(bits(stored) != bits(values)))
        state.update(stored.data.cast("B"))
    if different:
        return f"{different:,} of {info.size:,} weights of {name} in {info.file} are not base + recipe"
    if state.hexdigest() != recipe.tensors[name]:
        return f"tensor {name} in {info.file} has another SHA-256 than recipe.json says"
    return ""


def _run_model(directory: Path) -> list[tuple[str, str | None]]:
    """Model and revision of the run around ``directory``, if there is one."""
    try:
        with open_plain(directory.resolve().parent / "spec.json") as file:
            spec = json.load(file)
        model, revision = spec["model"], spec.get("revision")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []
    usable = isinstance(model, str) and "\0" not in model and isinstance(revision, str | None)
    return [(model, revision)] if usable else []


def _beside(directory: Path) -> Path | None:
    path = directory.resolve().parent / evidences.NAME
    return path if path.is_file() else None
