"""The Triton kernel against the slow reference, in Triton's interpreter; no GPU takes part."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="Triton is not installed: torch's CPU build comes without it")

CHECK = """
import numpy as np, torch
from population import noise_reference, triton_noise
from population.direction import Component, Law
from population.noise import scaled_amplitudes

def same(a, b):
    width = torch.int16 if a.element_size() == 2 else torch.int32
    assert a.dtype == b.dtype
    assert ((a.view(width) == b.view(width)) | (a.isnan() & b.isnan())).all()

for start, stop, stream in [(0, 50, 0), (3, 4001, 1), (8 * 2**32 - 5, 8 * 2**32 + 40, 2)]:
    same(triton_noise.gaussian(2**64 - 1, "w", start, stop, stream, "cpu"),
         noise_reference.gaussian(2**64 - 1, "w", start, stop, stream))

components = [Component(1, 3e-3), Component(7, -0.11), Component(2, 1e-6)]
for law in (Law(), Law("lowrank", 3), Law(scheme="tied"), Law(scale=0.3)):
    for storage, compute in [("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float16", "float16"),
                             ("float16", "float32"), ("float32", "float32")]:
        generator = np.random.default_rng(0)
        values = generator.standard_normal(37 * 91) * 10.0 ** generator.uniform(-9, 2, 37 * 91)
        base = torch.from_numpy(values).to(getattr(torch, storage))
        base[:5] = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan])
        expected = noise_reference.perturbed(base.reshape(37, 91), law, "w", components, 0.7, storage)
        expected = expected.reshape(-1).to(getattr(torch, compute))
        amplitudes = scaled_amplitudes(law, "w", [c.amplitude for c in components])
        for start, stop in [(0, 37 * 91), (13, 1500)]:
            out = torch.empty(stop - start, dtype=getattr(torch, compute))
            triton_noise.perturb(out, base[start:stop], law, "w", (37, 91),
                                 [c.seed for c in components], amplitudes, np.float32(0.7),
                                 storage=storage, start=start)
            same(out, expected[start:stop])
print("equal")
"""


def test_triton_kernel_equals_the_slow_reference_in_the_interpreter():
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    result = subprocess.run(
        [sys.executable, "-c", CHECK], env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout.strip() == "equal"
