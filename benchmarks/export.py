"""Export of a recipe: peak memory above the interpreter, and time against a plain copy of the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.memory import high_water, reset_high_water

COMPONENTS = 24  # elites of 48 candidates
BLOCK = 2**20


def main(model: Path) -> dict[str, float]:
    """Print and return seconds, MiB and their ratios; one process, so that its peak is the export's."""
    reply = subprocess.run(
        [sys.executable, "-m", "benchmarks.export", str(model)], check=True, capture_output=True, text=True
    )
    row: dict[str, float] = json.loads(reply.stdout.splitlines()[-1])
    for name, value in row.items():
        print(f"{name:<44}{value:10.2f}")
    return row


def measure(model: Path, folder: Path) -> dict[str, float]:
    from corp.export import materialise
    from corp.realise import Realised
    from population.checkpoint import Checkpoint
    from population.direction import Component, Direction, Law

    checkpoint = Checkpoint.open(model)
    components = tuple(Component(seed, 0.001) for seed in range(COMPONENTS))
    direction = Direction(components, Law())
    small = min(checkpoint.tensors.values(), key=lambda tensor: tensor.size).name
    list(Realised(checkpoint, direction, checkpoint.storage).chunks(small))  # compiles or loads the kernel
    reset_high_water()
    imports = high_water()
    copied = timed(partial(copy, model, checkpoint.files, folder))
    rows = {}
    for threads in (1, os.cpu_count() or 1):
        target = folder / f"export-{threads}"
        export = partial(
            materialise,
            checkpoint,
            direction,
            checkpoint.storage,
            target,
            base_id=model.name,
            threads=threads,
        )
        seconds = timed(export)
        rows[f"export, {COMPONENTS} components, {threads} threads, s"] = seconds
        rows[f"export / copy, {threads} threads"] = seconds / copied
    size = sum((model / file).stat().st_size for file in checkpoint.files)
    return {
        "weights, MiB": size / 2**20,
        "read + write + fsync of them, s": copied,
        **rows,
        "peak memory of imports and kernel, MiB": imports,
        "peak memory of the export above that, MiB": high_water() - imports,
    }


def copy(model: Path, files: tuple[str, ...], folder: Path) -> None:
    """Read and write the weight files in blocks, and wait for the disk."""
    for file in files:
        with (
            (model / file).open("rb", buffering=0) as source,
            (folder / file).open("wb", buffering=0) as target,
        ):
            while block := source.read(BLOCK):
                target.write(block)
            os.fsync(target.fileno())


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=os.environ.get("CORP_SCRATCH")) as scratch:
        print(json.dumps(measure(Path(sys.argv[1]), Path(scratch))))
