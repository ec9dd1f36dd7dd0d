"""Scale tables: what every one keeps, and the norms of noise against drawn noise."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.errors import DirectionInvalid
from population.header import TensorInfo
from population.noise_reference import noise
from population.scaletable import MASSES, noise_norm, role, root_mean_square, scale_table
from population.scope import PRESETS, select
from tests.population.engines import tiny


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return Checkpoint.open(tiny.save("llama", tmp_path_factory.mktemp("scale") / "llama", dtype="bfloat16"))


def info(*shape: int) -> TensorInfo:
    return TensorInfo("t", "float32", shape, "f", 0, 4 * math.prod(shape))


def table_of(checkpoint: Checkpoint, kind: str, law: Law) -> dict[str, float]:
    scale = scale_table(checkpoint, kind, law)
    names = select(checkpoint.tensors, law.scope)
    return dict.fromkeys(names, scale) if isinstance(scale, float) else dict(scale)


def weights(checkpoint: Checkpoint) -> dict[str, np.ndarray]:
    stored = {name: checkpoint.read(name) for name in checkpoint.tensors}
    return {name: (raw.astype(np.uint32) << 16).view(np.float32) for name, raw in stored.items()}


@pytest.mark.parametrize("kind", ["isotropic", "rms", "modular"])
@pytest.mark.parametrize("scope", sorted(PRESETS))
@pytest.mark.parametrize("rank", [None, 2])
def test_sigma_stays_the_rms_displacement_per_weight_in_scope(
    kind: str, scope: str, rank: int | None, checkpoint: Checkpoint
) -> None:
    law = Law(kind="lowrank" if rank else "full", rank=rank, scope=scope)
    table = table_of(checkpoint, kind, law)
    sizes = {name: checkpoint.tensors[name].size for name in select(checkpoint.tensors, scope)}
    assert table.keys() == sizes.keys()
    total = sum(sizes[name] * table[name] ** 2 for name in sizes)
    assert total / sum(sizes.values()) == pytest.approx(1, rel=1e-5)


def test_rms_moves_every_tensor_by_the_same_share_of_itself(checkpoint: Checkpoint) -> None:
    law = Law(scale=scale_table(checkpoint, "rms", Law()))
    overall = root_mean_square(checkpoint, Law())
    values = weights(checkpoint)
    assert overall == pytest.approx(
        np.sqrt(np.mean(np.concatenate(list(values.values())).astype(float) ** 2))
    )
    for name, stored in values.items():
        share = 0.01 * law.scale_of(name) / np.sqrt(np.mean(stored.astype(float) ** 2))
        assert share == pytest.approx(0.01 / overall, rel=1e-5)


def test_rms_reads_in_pieces(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scale_table(checkpoint, "rms", Law())
    monkeypatch.setattr("population.scaletable.PIECE", 100)
    assert scale_table(checkpoint, "rms", Law()) == whole


def test_a_tensor_of_zeros_stays_and_a_scope_of_zeros_is_refused(tmp_path: Path) -> None:
    path = tiny.save("qwen2", tmp_path / "qwen2")
    file = path / "model.safetensors"
    tensors = load_file(file)
    biases = [name for name in tensors if name.endswith("bias")]
    save_file({n: np.zeros_like(t) if n in biases else t for n, t in tensors.items()}, file, {"format": "pt"})
    zeroed = Checkpoint.open(path)
    law = Law(scale=scale_table(zeroed, "rms", Law()))
    assert {law.scale_of(name) for name in biases} == {0.0}
    with pytest.raises(DirectionInvalid, match="nothing to be relative to"):
        scale_table(zeroed, "rms", Law(scope=("*bias",)))
    assert scale_table(zeroed, "modular", Law(scope=("*bias",)))


def test_an_unknown_table_is_refused(checkpoint: Checkpoint) -> None:
    with pytest.raises(DirectionInvalid, match="unknown scale 'sharp'"):
        scale_table(checkpoint, "sharp", Law())


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("model.embed_tokens.weight", (9, 4), "embedding"),
        ("transformer.wte.weight", (9, 4), "embedding"),
        ("lm_head.weight", (9, 4), "head"),
        ("model.layers.0.self_attn.q_proj.weight", (4, 4), "attention"),
        ("model.layers.0.self_attn.q_proj.bias", (4,), "other"),
        ("model.layers.0.self_attn.q_norm.weight", (4,), "norm"),
        ("transformer.h.0.attn.c_attn.weight", (4, 12), "attention"),
        ("model.layers.0.mlp.gate_proj.weight", (4, 4), "mlp"),
        ("model.layers.0.input_layernorm.weight", (4,), "norm"),
        ("transformer.h.0.ln_1.weight", (4,), "norm"),
        ("model.mystery.weight", (4, 4), "other"),
    ],
)
def test_roles(name: str, shape: tuple[int, ...], expected: str) -> None:
    assert role(name, info(*shape)) == expected


def draws(shape: tuple[int, ...], law: Law, count: int = 15) -> list[np.ndarray]:
    return [noise(seed, law, "t", shape).double().numpy() for seed in range(count)]


@pytest.mark.parametrize(("rows", "columns"), [(40, 200), (300, 24), (2000, 8)])
def test_norms_of_unit_noise_are_those_of_drawn_noise(rows: int, columns: int) -> None:
    drawn = draws((rows, columns), Law())
    spectral = np.mean([np.linalg.norm(z, 2) for z in drawn])
    assert noise_norm("mlp", info(rows, columns), Law()) == pytest.approx(spectral, rel=0.06)
    longest = np.median([np.linalg.norm(z, axis=1).max() for z in drawn])
    assert noise_norm("embedding", info(rows, columns), Law()) == pytest.approx(longest, rel=0.05)
    highest = np.median([np.abs(z).max() for z in draws((rows,), Law(), 41)])
    assert noise_norm("norm", info(rows), Law()) == pytest.approx(highest, rel=0.1)


@pytest.mark.parametrize("rank", [1, 4])
def test_the_norm_of_low_rank_noise_is_bounded_closely(rank: int) -> None:
    law = Law(kind="lowrank", rank=rank)
    spectral = np.mean([np.linalg.norm(z, 2) for z in draws((200, 120), law)])
    assert spectral <= noise_norm("mlp", info(200, 120), law) <= 1.3 * spectral


def test_modular_gives_every_role_its_mass_in_its_norm(checkpoint: Checkpoint) -> None:
    """Drawn noise, scaled, measured by role: the norms of a role's tensors add up to its mass."""
    table = table_of(checkpoint, "modular", Law())
    totals: dict[str, float] = {}
    for name, scale in table.items():
        found = role(name, checkpoint.tensors[name])
        totals[found] = totals.get(found, 0.0) + scale * noise_norm(found, checkpoint.tensors[name], Law())
    shares = {found: total / MASSES[found] for found, total in totals.items()}
    assert set(shares) == {"embedding", "attention", "mlp", "norm"}
    assert max(shares.values()) == pytest.approx(min(shares.values()), rel=1e-4)


def test_projections_stored_as_one_share_like_projections_stored_apart() -> None:
    def shares(*names: str) -> dict[str, float]:
        from population.scaletable import _modular

        infos = {f"layers.0.self_attn.{name}.weight": info(8, 8) for name in names}
        return {name.split(".")[3]: value for name, value in _modular(infos, Law()).items()}

    apart, fused = shares("q_proj", "k_proj", "v_proj", "o_proj"), shares("qkv_proj", "o_proj")
    assert fused["o_proj"] == pytest.approx(apart["o_proj"])
    assert fused["qkv_proj"] == pytest.approx(3 * apart["q_proj"])


@given(st.floats(1e-6, 1e3))
def test_scaled_weights_have_a_scaled_unit(factor: float) -> None:
    """The rms table does not know the unit of the weights."""
    from population.scaletable import _normalised

    infos = {"a": info(3, 5), "b": info(7)}
    one = _normalised({"a": 0.1, "b": 2.0}, infos, Law())
    other = _normalised({"a": 0.1 * factor, "b": 2.0 * factor}, infos, Law())
    assert other == pytest.approx(one, rel=2e-5)


def test_a_table_survives_the_recipe(checkpoint: Checkpoint) -> None:
    direction = Direction((Component(1, 0.01),), Law(scale=scale_table(checkpoint, "modular", Law())))
    assert Direction.from_json(direction.to_json()).digest() == direction.digest()
