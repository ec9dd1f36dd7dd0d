"""Peak memory of a search on a real model: base copy + working copy + activations, in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MEASURE = """
import json, sys
from pathlib import Path
import psutil, torch, transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM
from population import kernels, noise
from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.engines.engine import Sampling
from population.engines.torch import TorchEngine

def resident(): return psutil.Process().memory_info().rss
def peak():  # not getrusage, which counts the process that started this one as well
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024

imported = resident()
checkpoint = Checkpoint.open(Path(sys.argv[1]))
engine = TorchEngine(checkpoint, device="cpu", compute="float32", threads=1)
loaded = resident()
prompts = [[{"role": "user", "content": f"What is {n} + {n}?"}] for n in range(32)]
for seed in range(2):
    engine.set_weights(Direction((Component(seed, 0.01),), Law()))
    engine.generate(prompts, Sampling(max_new_tokens=4))
weights = sum(tensor.size for tensor in checkpoint.tensors.values())
print(json.dumps(dict(imported=imported, loaded=loaded, scored=resident(), peak=peak(), weights=weights)))
"""


@pytest.mark.slow
@pytest.mark.model
def test_a_search_holds_two_copies_of_the_weights_and_its_activations(smollm2: Path) -> None:
    out = subprocess.run(
        [sys.executable, "-c", MEASURE, str(smollm2)], check=True, capture_output=True, text=True
    )
    found = json.loads(out.stdout.splitlines()[-1])
    copies = found["weights"] * (2 + 4)  # bfloat16 base, float32 working copy
    spare = 200 << 20  # tokenizer, library tables, 32 rows of keys, values and activations
    assert found["loaded"] - found["imported"] < copies + spare
    assert found["scored"] - found["imported"] < copies + 2 * spare
    # While loading, transformers maps the bfloat16 file beside the working copy: one more base copy at most.
    assert found["peak"] - found["imported"] < copies + found["weights"] * 2 + 2 * spare
