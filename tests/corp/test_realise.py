from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from corp.realise import Realised
from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.errors import DirectionInvalid, ModelUnsupported
from tests.corp.exports import DARE, DIRECTION, TIES, reference, same_bits

MLP = replace(DIRECTION, law=Law(scope="mlp"))


def variant(model: Path, target: Path, dtype: torch.dtype, **changes: torch.Tensor) -> Path:
    """A copy of ``model`` in ``dtype`` with some tensors replaced."""
    target.mkdir()
    for file in model.iterdir():
        if file.suffix != ".safetensors":
            (target / file.name).write_bytes(file.read_bytes())
    tensors = {name: tensor.to(dtype) for name, tensor in load_file(model / "model.safetensors").items()}
    save_file(tensors | changes, target / "model.safetensors")
    return target


def whole(realised: Realised, checkpoint: Checkpoint, name: str, storage: str) -> torch.Tensor:
    values = np.concatenate([values.copy() for _, values in realised.chunks(name)])
    shape = checkpoint.tensors[name].shape
    return torch.from_numpy(values).view(getattr(torch, storage)).reshape(shape)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("storage", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("direction", [DIRECTION, MLP, TIES, DARE], ids=["all", "mlp", "ties", "dare"])
def test_every_tensor_equals_the_slow_reference(
    tiny_llama: Path, tmp_path: Path, dtype: torch.dtype, storage: str, direction: Direction
) -> None:
    checkpoint = Checkpoint.open(variant(tiny_llama, tmp_path / "base", dtype))
    realised = Realised(checkpoint, direction, storage)
    expected = reference(checkpoint.path, storage, direction)
    for name in checkpoint.tensors:
        assert same_bits(whole(realised, checkpoint, name, storage), expected[name]), name


@pytest.mark.parametrize(("chunk", "threads"), [(1, 1), (7, 1), (100, 1), (1 << 20, 3)])
@pytest.mark.parametrize("direction", [DIRECTION, TIES, DARE], ids=["linear", "ties", "dare"])
def test_neither_chunks_nor_threads_show(
    tiny_llama: Path, chunk: int, threads: int, direction: Direction
) -> None:
    checkpoint = Checkpoint.open(tiny_llama)
    name = "model.layers.0.input_layernorm.weight" if chunk == 1 else "model.layers.1.mlp.down_proj.weight"
    realised = Realised(checkpoint, direction, "bfloat16", threads=threads, chunk=chunk)
    expected = reference(tiny_llama, "bfloat16", direction)[name]
    assert same_bits(whole(realised, checkpoint, name, "bfloat16"), expected)


def test_the_last_chunk_but_one_is_still_readable(tiny_llama: Path) -> None:
    realised = Realised(Checkpoint.open(tiny_llama), DIRECTION, "bfloat16", chunk=100)
    before = None
    for _, values in realised.chunks("model.layers.0.mlp.up_proj.weight"):
        if before is not None:
            assert np.array_equal(*before)
        before = values, values.copy()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_tensors_out_of_scope_keep_their_negative_zeros(
    tiny_llama: Path, tmp_path: Path, dtype: torch.dtype
) -> None:
    special = torch.tensor([-0.0, 0.0, 1.0 + 2**-8, 1.0 + 3 * 2**-8] * 8, dtype=dtype)
    base = variant(tiny_llama, tmp_path / "base", dtype, **{"model.norm.weight": special})
    checkpoint = Checkpoint.open(base)
    found = whole(Realised(checkpoint, MLP, "bfloat16"), checkpoint, "model.norm.weight", "bfloat16")
    assert same_bits(found, special.to(torch.bfloat16))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["model.norm.weight", "model.layers.0.mlp.up_proj.weight"])
def test_a_base_that_holds_no_numbers_is_refused(
    tiny_llama: Path, tmp_path: Path, value: float, name: str
) -> None:
    broken = load_file(tiny_llama / "model.safetensors")[name].clone()
    broken.view(-1)[5] = value
    base = variant(tiny_llama, tmp_path / "base", torch.bfloat16, **{name: broken})
    with pytest.raises(ModelUnsupported, match=name):
        list(Realised(Checkpoint.open(base), MLP, "bfloat16").chunks(name))


def test_a_weight_that_outgrows_float16_is_refused(tiny_llama: Path) -> None:
    far = Direction((Component(1, 60_000.0),), Law())
    checkpoint = Checkpoint.open(tiny_llama)
    list(Realised(checkpoint, far, "bfloat16").chunks("lm_head.weight"))
    with pytest.raises(DirectionInvalid, match=r"lm_head.*outgrow float16"):
        list(Realised(checkpoint, far, "float16").chunks("lm_head.weight"))
