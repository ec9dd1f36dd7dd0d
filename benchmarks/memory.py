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
        print(f"{name:<42}{value:8.0f} MiB")
    return row


def measure(model: Path) -> dict[str, float]:
    import torch
    import transformers  # noqa: F401  # with the next two, the interpreter's share

    import population.kernels
    import population.noise  # noqa: F401
    from corp.spec import load_spec
    from population.checkpoint import Checkpoint
    from population.direction import Law
    from population.engines.engine import Sampling
    from population.engines.torch import TorchEngine
    from population.proposal import isotropic
    from verify.task import load_task

    spec, folder = load_spec(Path(__file__).parents[1] / "examples/larger.yaml")
    task = load_task(spec.task, folder)
    imported = status("VmRSS")
    checkpoint = Checkpoint.open(model)
    engine = TorchEngine(checkpoint)
    weights = sum(tensor.size for tensor in checkpoint.tensors.values())
    dtypes = [getattr(torch, str(engine.identity[key])) for key in ("storage", "compute")]
    loaded, loading = status("VmRSS"), high_water()
    reset_high_water()
    prompts = [task.messages(item) for item in task.splits["support"][:PROMPTS]]
    for candidate in isotropic(3, (0.01,), 0, Law()):
        engine.set_weights(candidate.direction)
        engine.generate(prompts, Sampling(max_new_tokens=16))
    copies = weights * sum(torch.finfo(dtype).bits // 8 for dtype in dtypes) / 2**20
    return {
        "imports": imported,
        "base copy + working copy, computed": copies,
        "resident after loading, above imports": loaded - imported,
        "peak while loading, above imports": loading - imported,
        "peak while scoring, above imports": high_water() - imported,
        "activations and tables": high_water() - imported - copies,
    }


def high_water() -> float:
    """Peak resident MiB of this program; getrusage would count the process that started it as well."""
    return status("VmHWM")


def reset_high_water() -> None:
    """Let the peak start again from what is resident now (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


def status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) / 1024


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
