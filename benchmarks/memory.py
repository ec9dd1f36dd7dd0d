"""Peak memory of a search: base copy + working copy + activations, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROMPTS = 64


def main(model: Path) -> dict[str, float]:
    """Print and return MiB: interpreter, both copies in theory, resident after loading, peak of scoring."""
    reply = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", str(model)], check=True, capture_output=True, text=True
    )
    row: dict[str, float] = json.loads(reply.stdout.splitlines()[-1])
    for name, value in row.items():
        print(f"{name:<34}{value:8.0f} MiB")
    return row


def measure(model: Path) -> dict[str, float]:
    import torch
    import transformers  # noqa: F401  # part of the interpreter's share

    from corp.spec import load_spec
    from population.checkpoint import Checkpoint
    from population.direction import Law
    from population.engines.engine import Sampling
    from population.engines.torch import TorchEngine
    from population.proposal import isotropic
    from verify.task import load_task

    imported = resident()
    checkpoint = Checkpoint.open(model)
    engine = TorchEngine(checkpoint)
    weights = sum(tensor.size for tensor in checkpoint.tensors.values())
    width = torch.finfo(getattr(torch, str(engine.identity["compute"]))).bits // 8
    loaded = resident()
    spec, folder = load_spec(Path(__file__).parents[1] / "examples/larger.yaml")
    task = load_task(spec.task, folder)
    prompts = [task.messages(item) for item in task.splits["support"][:PROMPTS]]
    peak = loaded
    for candidate in isotropic(3, (0.01,), 0, Law()):
        engine.set_weights(candidate.direction)
        engine.generate(prompts, Sampling(max_new_tokens=16))
        peak = max(peak, resident())
    return {
        "imports": imported,
        "base copy (stored dtype)": weights * checkpoint_width(checkpoint) / 2**20,
        "working copy (compute dtype)": weights * width / 2**20,
        "resident after loading": loaded,
        "resident above imports": loaded - imported,
        "high water of the process": high_water(),
        "activations while scoring": peak - loaded,
    }


def checkpoint_width(checkpoint: object) -> int:
    return {"bfloat16": 2, "float16": 2, "float32": 4}[str(getattr(checkpoint, "storage", "float32"))]


def resident() -> float:
    import psutil

    return float(psutil.Process().memory_info().rss) / 2**20


def high_water() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
