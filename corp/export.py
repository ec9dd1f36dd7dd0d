"""Base + direction as a complete Hugging Face checkpoint, streamed to disk and published in one rename."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corp import recipe as recipes
from corp.card import card
from corp.errors import DiskFull, OutputUnusable
from corp.layout import Shard, index, plan
from corp.manifest import NAME as MANIFEST
from corp.manifest import Entry, Manifest
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
    _remove_stale(target)
    _check_room(target, sum(shard.nbytes for shard in shards) + sum(map(len, files.values())))
    with _partial(target) as folder, _Writer(folder) as writer:
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
        with _new_file(self._folder / name, len(data)) as descriptor:
            _write(descriptor, memoryview(data), 0)
        self.entries[name] = Entry.of(data)

    def shard(self, shard: Shard, realised: Realised) -> None:
        """A weight file: header, then each tensor's chunks at their offsets."""
        whole = hashlib.sha256(shard.header)
        with _new_file(self._folder / shard.file, shard.nbytes) as descriptor:
            _write(descriptor, memoryview(shard.header), 0)
            for tensor in shard.tensors:
                digest = hashlib.sha256()
                previous: list[Future[None]] = []
                for start, values in realised.chunks(tensor.name):
                    data = values.data.cast("B")
                    _write(descriptor, data, tensor.offset + start * values.itemsize)
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


def _prefix(target: Path) -> str:
    return f".{target.name}.partial-"


def _remove_stale(target: Path) -> None:
    """Remove what killed exports to ``target`` left; a live one holds a lock on its directory."""
    for path in target.absolute().parent.glob(f"{_prefix(target)}*"):
        with _held(path):
            shutil.rmtree(path)


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """A directory beside ``target`` to build in; removed unless it was published."""
    folder = target.absolute().parent / f"{_prefix(target)}{secrets.token_hex(8)}"
    folder.mkdir()
    try:
        with _held(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the directory's lock; the kernel releases it when the process dies, however it dies.

    Raises:
        OutputUnusable: another process holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise OutputUnusable(
            f"another process is exporting into {folder}", hint="wait for it, or stop it first"
        ) from None
    finally:
        os.close(descriptor)


@contextmanager
def _new_file(path: Path, size: int) -> Iterator[int]:
    """A new file of ``size`` bytes, its blocks reserved, readable to whom the umask allows."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        _reserve(descriptor, size)
        yield descriptor
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(
            f"the disk filled up while {path.name} ({size:,} bytes) was written to {path.parent.parent}",
            hint="free some space and start again; nothing was published",
        ) from None
    finally:
        os.close(descriptor)


def _reserve(descriptor: int, size: int) -> None:
    try:
        if size:
            os.posix_fallocate(descriptor, 0, size)
    except OSError as error:  # some file systems cannot reserve; there a full disk shows when it is written
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        os.ftruncate(descriptor, size)


def _write(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(descriptor, data, offset)
        data, offset = data[count:], offset + count
