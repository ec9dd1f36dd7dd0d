"""Checks of an exported directory that need no base: would every server read it as transformers does?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corp import layout
from corp.errors import AuditFailed
from corp.manifest import Manifest
from corp.recipe import Recipe
from corp.sidecars import DTYPE_KEYS, TEMPLATE, TOKENIZER_CONFIG, chat_templates
from population.checkpoint import Checkpoint
from population.errors import ModelMissing, ModelUnsupported

FOREIGN = (".bin", ".pt", ".pth", ".ckpt", ".py", ".gguf", ".pkl")


def inspect(directory: Path) -> tuple[Checkpoint, Recipe, Manifest]:
    """The directory's parts, each well formed and all in agreement.

    Files equal the manifest, none is missing or too many; headers, index and recipe name the same tensors;
    one chat template in every form; nothing that a loader would take for weights or code.

    Raises:
        AuditFailed: with every problem of the first check that finds one.
        RecipeInvalid: the recipe is damaged.
    """
    if not directory.is_dir():
        raise AuditFailed(f"{directory} is not a directory", hint="name a checkpoint that CoRP exported")
    manifest = Manifest.read(directory)
    report(directory, manifest.problems(directory))
    recipe = Recipe.read(directory / "recipe.json")
    try:
        checkpoint = Checkpoint.open(directory)
        problems = list(_problems(checkpoint, recipe, manifest))
    except (ModelMissing, ModelUnsupported) as error:
        raise AuditFailed(error.detail, hint=error.hint) from None
    report(directory, problems)
    return checkpoint, recipe, manifest


def report(directory: Path, problems: list[str]) -> None:
    """Raise AuditFailed naming the problems, the first five of them."""
    if problems:
        more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise AuditFailed(
            f"{directory} is not what was exported: {'; '.join(problems[:5])}{more}",
            hint="do not use it; export it again or fetch an undamaged copy",
        )


def _problems(checkpoint: Checkpoint, recipe: Recipe, manifest: Manifest) -> Iterator[str]:
    yield from _stray(checkpoint, manifest)
    yield from _tensors(checkpoint, recipe)
    yield from _layout(checkpoint)
    yield from _config(checkpoint, recipe)
    yield from _templates(checkpoint.path)
    yield from _modes(checkpoint.path, manifest)


def _stray(checkpoint: Checkpoint, manifest: Manifest) -> Iterator[str]:
    for name in sorted(manifest.files):
        if name.endswith(FOREIGN):
            yield f"{name} is a file that some loaders would execute or take for the weights"
        elif name.endswith(".safetensors") and name not in checkpoint.files:
            yield f"{name} holds weights that the checkpoint does not name"


def _layout(checkpoint: Checkpoint) -> Iterator[str]:
    """Headers and index have one spelling, so nothing can hide in them."""
    shards = []
    for file in checkpoint.files:
        within = [info for info in checkpoint.tensors.values() if info.file == file]
        shards.append(layout.shard(file, within))
        with (checkpoint.path / file).open("rb") as stream:
            if stream.read(len(shards[-1].header)) != shards[-1].header:
                yield f"the header of {file} is not the one that was written"
    for name, data in layout.index(shards).items():
        if (checkpoint.path / name).read_bytes() != data:
            yield f"{name} is not the index of these weight files"


def _tensors(checkpoint: Checkpoint, recipe: Recipe) -> Iterator[str]:
    for name in sorted(checkpoint.tensors.keys() ^ recipe.tensors.keys()):
        where = "the weight files" if name in checkpoint.tensors else "the recipe"
        yield f"tensor {name} is only in {where}"
    for name in checkpoint.tied_duplicates:
        yield f"tensor {name} is stored although the config ties it: some engines would untie the model"
    for info in checkpoint.tensors.values():
        if info.dtype != recipe.storage:
            yield f"tensor {info.name} in {info.file} is {info.dtype}, the recipe says {recipe.storage}"


def _config(checkpoint: Checkpoint, recipe: Recipe) -> Iterator[str]:
    stated = {key: checkpoint.config[key] for key in DTYPE_KEYS if key in checkpoint.config}
    if not stated or any(value != recipe.storage for value in stated.values()):
        yield f"config.json states {stated or 'no dtype'}, the weights are {recipe.storage}"


def _templates(directory: Path) -> Iterator[str]:
    stated = chat_templates(directory)
    if len(set(stated.values())) > 1:
        yield f"the chat templates in {', '.join(sorted(stated))} differ"
    if stated and not {TEMPLATE, TOKENIZER_CONFIG} <= stated.keys():
        yield f"the chat template is only in {', '.join(sorted(stated))}: some servers would not see it"


def _modes(directory: Path, manifest: Manifest) -> Iterator[str]:
    """safetensors writes files that only their owner can read; a server under another user then fails."""
    readers = (directory / "config.json").stat().st_mode & 0o444
    for name in sorted(manifest.files):
        if (directory / name).stat().st_mode & 0o444 != readers:
            yield f"{name} can be read by others than config.json can"
