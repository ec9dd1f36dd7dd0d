"""What storing leaves of a step, worked out again with torch in float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from corp.diagnostics.rounding import group, rounding, widened
from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.noise import gaussian

STEP = Direction((Component(3, 2e-3), Component(9, -1e-3)), Law(), step=0.5)


def test_sums_are_those_of_torch(tiny_llama: Path) -> None:
    checkpoint = Checkpoint.open(tiny_llama)
    found = rounding(checkpoint, STEP, "bfloat16")
    dd = qq = qd = changed = 0.0
    for name, info in checkpoint.tensors.items():
        noise = [np.float32(c.amplitude) * gaussian(c.seed, name, 0, info.size) for c in STEP.components]
        d = np.float32(0.5) * (noise[0] + noise[1])
        base = torch.from_numpy(checkpoint.read(name)).view(torch.bfloat16)
        after = (base.float() + torch.from_numpy(d)).to(torch.bfloat16)
        q = (after.double() - base.double()).numpy()
        dd, qq, qd = dd + float(d.astype(float) @ d), qq + float(q @ q), qd + float(q @ d)
        changed += int((after != base).sum())
    overall = found["overall"]
    assert overall.intended == pytest.approx(np.sqrt(dd), rel=1e-6)
    assert overall.realised == pytest.approx(np.sqrt(qq), rel=1e-6)
    assert overall.gain == pytest.approx(qd / dd, rel=1e-6)
    assert overall.cosine == pytest.approx(qd / np.sqrt(dd * qq), rel=1e-6)
    assert overall.changed == changed / overall.weights


def test_norm_gains_near_one_do_not_move_by_small_steps(tiny_llama: Path) -> None:
    """bfloat16 steps near 1 are 0.0078 up and 0.0039 down: 5e-4 is lost, and the report says so."""
    found = rounding(Checkpoint.open(tiny_llama), Direction((Component(1, 5e-4),), Law()), "bfloat16")
    norms = next(one for one in found["groups"] if one.name == "norms")
    assert (norms.realised, norms.gain, norms.cosine, norms.changed, norms.lost) == (0.0, 0.0, None, 0.0, 1.0)
    assert found["worst"][0].gain == 0.0
    assert "norm" in found["worst"][0].name


def test_float32_loses_nothing(tiny_llama: Path) -> None:
    found = rounding(Checkpoint.open(tiny_llama), STEP, "float32")["overall"]
    assert found.gain == pytest.approx(1, abs=1e-4)
    assert found.cosine == pytest.approx(1, abs=1e-6)


def test_chunks_and_threads_change_nothing(tiny_llama: Path) -> None:
    checkpoint = Checkpoint.open(tiny_llama)
    whole = rounding(checkpoint, STEP, "bfloat16")["overall"]
    parts = rounding(checkpoint, STEP, "bfloat16", chunk=1000, threads=2)["overall"]
    assert parts.changed == whole.changed
    assert parts.gain == pytest.approx(whole.gain, rel=1e-12)


def test_only_the_scope_counts(tiny_llama: Path) -> None:
    checkpoint = Checkpoint.open(tiny_llama)
    found = rounding(checkpoint, Direction((Component(1, 1e-2),), Law(scope="mlp")), "bfloat16")
    assert [one.name for one in found["groups"]] == ["mlp"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.embed_tokens.weight", "embeddings"),
        ("lm_head.weight", "head"),
        ("model.layers.3.self_attn.q_proj.weight", "attention"),
        ("model.layers.3.self_attn.q_norm.weight", "norms"),
        ("model.layers.3.mlp.gate_proj.weight", "mlp"),
        ("model.norm.weight", "norms"),
        ("transformer.h.0.conv.kernel", "other"),
    ],
)
def test_tensors_belong_to_the_parts_that_their_names_say(name: str, expected: str) -> None:
    assert group(name) == expected


def test_bfloat16_widens_exactly() -> None:
    values = torch.randn(100).to(torch.bfloat16)
    stored = values.view(torch.uint16).numpy()
    np.testing.assert_array_equal(widened(stored, "bfloat16"), values.double().numpy())
