"""Base + direction as a complete Hugging Face checkpoint, streamed to disk and published in one rename."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corp import recipe as recipes
from corp.card import card
from corp.errors import DiskFull, OutputUnusable
from corp.layout import Shard, index, plan
from corp.manifest import NAME as MANIFEST
from corp.manifest import Entry, Manifest
from corp.partial import new_file, partial, remove_stale, write_at
from corp.realise import Realised
from corp.recipe import Base, Recipe
from corp.sidecars import card_metadata, sidecars
from population.checkpoint import Checkpoint
from population.direction import Direction
from population.errors import TargetExists
from population.publish import publish_directory

MARGIN = 2**20  # bytes for card, recipe, manifest and the file system's own needs


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written.

    Attributes:
        recipe_digest: SHA-256 of recipe.json.
        weights: SHA-256 over all tensors' bytes in order, as ``TorchEngine.digest`` gives it.
        bytes: of all files.
        files: their names, sorted.
    """

    recipe_digest: str
    weights: str
    bytes: int
    files: tuple[str, ...]


def materialise(
    checkpoint: Checkpoint,
    direction: Direction,
    storage: str,
    target: Path,
    *,
    base_id: str,
    revision: str | None = None,
    shard_bytes: int = 5_000_000_000,
    evaluation: Mapping[str, Any] | None = None,
    base_files: Mapping[str, str] | None = None,
    threads: int = 1,
) -> ExportReport:
    """Write ``checkpoint`` + ``direction`` to ``target``, which appears complete or not at all.

    Memory does not depend on the model's size. Equal arguments give equal bytes, also after an export that
    was killed halfway: what it left is removed first.

    Args:
        storage: dtype that every weight is rounded to.
        target: must not exist; its parent must.
        base_id: hub id or directory of the base; the recipe keeps the name, never the path.
        revision: hub commit of the base.
        shard_bytes: largest weight file, unless a single tensor is larger.
        evaluation: the gate's result, for the model card.
        base_files: SHA-256 of the base's weight files where known; without it they are read once more.
        threads: most threads that make noise.

    Raises:
        TargetExists: something is at ``target``.
        OutputUnusable: its parent is missing or not writable, or another process is exporting there.
        DiskFull: too little room, found before anything is written.
        DirectionInvalid: the direction does not fit the model, or a weight outgrows ``storage``.
        ModelUnsupported, ModelMissing: the base cannot be read or holds a NaN.
    """
    _check_target(target)
    realised = Realised(checkpoint, direction, storage, threads=threads)
    shards = plan(checkpoint.tensors.values(), storage, shard_bytes)
    files = sidecars(checkpoint, storage) | index(shards)
    remove_stale(target)
    _check_room(target, sum(shard.nbytes for shard in shards) + sum(map(len, files.values())))
    with partial(target) as folder, _Writer(folder) as writer:
        for shard in shards:
            writer.shard(shard, realised)
        base = Base(*recipes.identify(base_id, checkpoint.path, revision), base_files or checkpoint.digests())
        recipe = Recipe(base, direction, storage, writer.tensors)
        title = f"{base.id.rpartition('/')[2]}-corp"
        files["README.md"] = card(recipe, title, card_metadata(checkpoint.path), evaluation)
        files[recipes.NAME] = recipe.to_bytes()
        for name, data in files.items():
            writer.file(name, data)
        writer.file(MANIFEST, Manifest(dict(writer.entries)).to_bytes())
        publish_directory(folder, target)
        return writer.report(recipe)


class _Writer:
    """Writes files into a partial directory and digests them on the way, each digest in its own thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._threads = [ThreadPoolExecutor(1, thread_name_prefix="sha256") for _ in range(3)]
        self._weights = hashlib.sha256()
        self.entries: dict[str, Entry] = {}
        self.tensors: dict[str, str] = {}

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.shutdown()

    def file(self, name: str, data: bytes) -> None:
        with new_file(self._folder / name, len(data)) as descriptor:
            write_at(descriptor, memoryview(data), 0)
        self.entries[name] = Entry.of(data)

    def shard(self, shard: Shard, realised: Realised) -> None:
        """A weight file: header, then each tensor's chunks at their offsets."""
        whole = hashlib.sha256(shard.header)
        with new_file(self._folder / shard.file, shard.nbytes) as descriptor:
            write_at(descriptor, memoryview(shard.header), 0)
            for tensor in shard.tensors:
                digest = hashlib.sha256()
                previous: list[Future[None]] = []
                for start, values in realised.chunks(tensor.name):
                    data = values.data.cast("B")
                    write_at(descriptor, data, tensor.offset + start * values.itemsize)
                    wait(previous)  # the next chunk takes the previous one's memory
                    previous = self._digest(data, (whole, digest, self._weights))
                wait(previous)
                self.tensors[tensor.name] = digest.hexdigest()
        self.entries[shard.file] = Entry(shard.nbytes, whole.hexdigest())

    def _digest(self, data: memoryview, digests: tuple[hashlib._Hash, ...]) -> list[Future[None]]:
        """Hand ``data`` to the digests, each in its own thread; hashlib lets go of the interpreter's lock."""
        pairs = zip(self._threads, digests, strict=True)
        return [thread.submit(digest.update, data) for thread, digest in pairs]

    def report(self, recipe: Recipe) -> ExportReport:
        return ExportReport(
            recipe.digest(),
            self._weights.hexdigest(),
            sum(entry.size for entry in self.entries.values()),
            tuple(sorted(self.entries)),
        )


def _check_target(target: Path) -> None:
    if os.path.lexists(target):
        raise TargetExists(
            f"{target} exists already and is not replaced", hint="move it away or name another place"
        )
    parent = target.absolute().parent
    if not parent.is_dir():
        raise OutputUnusable(f"{parent} is not a directory", hint="create it, or name another place")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputUnusable(f"{parent} is not writable", hint="choose a directory you own")


def _check_room(target: Path, size: int) -> None:
    need, free = size + MARGIN, shutil.disk_usage(target.absolute().parent).free
    if free < need:
        raise DiskFull(
            f"{target.absolute().parent} has {free:,} bytes free; the export to {target.name} needs {need:,}",
            hint="free some space or name a directory on another disk",
        )
