from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.engines.engine import Sampling
from population.engines.torch import TorchEngine
from population.errors import DirectionInvalid
from population.merge import Merge
from population.scope import select
from population.sweep import SweepSums
from tests.population.engines import tiny
from tests.population.merge_reference import merged_weights

Start = Callable[..., TorchEngine]


def direction(seed: int, scope: str = "all", step: float = 1.0) -> Direction:
    return Direction((Component(seed, 0.01), Component(seed + 1, -0.02)), Law(scope=scope), step)


def expected_digest(path: Path, moved: Direction | None) -> str:
    """SHA-256 over tensors rebuilt one by one by the slow reference, in the order of the checkpoint."""
    import torch
    from safetensors.torch import load_file

    from population.noise_reference import perturbed

    checkpoint = Checkpoint.open(path)
    stored = load_file(path / "model.safetensors")
    names = select(checkpoint.tensors, moved.law.scope) if moved else ()
    state = hashlib.sha256()
    for name in checkpoint.tensors:
        tensor = stored[name].to(getattr(torch, checkpoint.storage))
        if moved and name in names:
            tensor = (
                merged_weights(stored[name], moved, name, checkpoint.storage)
                if moved.merge
                else perturbed(
                    stored[name], moved.law, name, moved.components, moved.step, checkpoint.storage
                )
            )
        state.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return state.hexdigest()


def test_after_a_thousand_switches_the_base_is_bit_equal_to_a_fresh_load(
    bfloat16_llama: Path, start: Start
) -> None:
    engine = start(bfloat16_llama, compute="float32")
    fresh = engine.digest()
    assert fresh == expected_digest(bfloat16_llama, None)
    draw = random.Random(0)
    scopes = ("all", "mlp", "attention", "no-norms", "no-embeddings")
    for _ in range(999):
        engine.set_weights(direction(draw.randrange(1 << 40), draw.choice(scopes)))
    assert engine.digest() != fresh
    assert engine.set_weights(None) == "base"
    assert engine.digest() == fresh


@pytest.mark.parametrize("scope", ["all", "mlp"])
@pytest.mark.parametrize("compute", ["float32", "bfloat16"])
def test_switched_weights_are_those_of_the_slow_reference_to_the_bit(
    scope: str, compute: str, bfloat16_llama: Path, start: Start
) -> None:
    engine = start(bfloat16_llama, compute=compute)
    engine.set_weights(direction(99))  # whatever was live before plays no part
    moved = direction(5, scope, step=0.7)
    assert engine.set_weights(moved) == moved.digest()
    assert engine.digest() == expected_digest(bfloat16_llama, moved)


def test_float32_storage_rounds_to_float32_only(families: dict[str, Path], start: Start) -> None:
    engine = start(families["gpt2"])
    engine.set_weights(direction(5))
    assert engine.digest() == expected_digest(families["gpt2"], direction(5))


def test_a_narrower_storage_dtype_rounds_the_base_too(families: dict[str, Path], start: Start) -> None:
    import torch
    from safetensors.torch import load_file

    engine = start(families["llama"], storage="bfloat16")
    stored = load_file(families["llama"] / "model.safetensors")
    state = hashlib.sha256()
    for name in Checkpoint.open(families["llama"]).tensors:
        state.update(stored[name].bfloat16().reshape(-1).view(torch.uint8).numpy().tobytes())
    assert engine.digest() == state.hexdigest()


def test_staged_sums_give_the_bits_and_the_version_of_the_direction(
    bfloat16_llama: Path, start: Start, tmp_path: Path
) -> None:
    engine = start(bfloat16_llama, compute="float32")
    directions = [direction(1, "no-norms"), Direction((Component(1, 0.5),), Law(scope="no-norms"))]
    engine.set_weights(direction(70))
    with SweepSums.build(Checkpoint.open(bfloat16_llama), directions, tmp_path / "sums") as sums:
        for d, line in enumerate(directions):
            for step in (0.25, 3.0):
                point = Direction(line.components, line.law, step)
                version, digest = engine.set_staged(sums, d, step), engine.digest()
                assert version == point.digest()
                engine.set_weights(None)
                assert engine.set_weights(point) == version
                assert engine.digest() == digest == expected_digest(bfloat16_llama, point)


@pytest.mark.parametrize(
    "merge",
    [
        Merge("ties", 0.3, (0.7, 0.3), sign_weighting="paper"),
        Merge("dare", 0.3, (0.7, 0.3), rescale="l1"),
    ],
    ids=["ties", "dare"],
)
def test_merged_directions_are_those_of_the_reference_set_or_staged(
    merge: Merge, bfloat16_llama: Path, start: Start, tmp_path: Path
) -> None:
    engine = start(bfloat16_llama, compute="float32")
    moved = replace(direction(5, "no-norms", step=0.7), merge=merge)
    expected = expected_digest(bfloat16_llama, moved)
    assert engine.set_weights(moved) == moved.digest()
    assert engine.digest() == expected
    engine.set_weights(direction(99))
    with SweepSums.build(Checkpoint.open(bfloat16_llama), [moved], tmp_path / "sums") as sums:
        assert engine.set_staged(sums, 0, 0.7) == moved.digest()
    assert engine.digest() == expected
    engine.set_weights(None)
    assert engine.digest() == expected_digest(bfloat16_llama, None)


def test_a_direction_that_does_not_fit_leaves_the_base(bfloat16_llama: Path, start: Start) -> None:
    engine = start(bfloat16_llama, compute="float32")
    fresh = engine.digest()
    first = next(iter(Checkpoint.open(bfloat16_llama).tensors))
    engine.set_weights(direction(1))
    half = Direction((Component(1, 0.1),), Law(scale={first: 1.0}))  # no scale for the second tensor
    with pytest.raises(DirectionInvalid):
        engine.set_weights(half)
    assert engine.digest() == fresh
    (answer,) = engine.generate([tiny.user("a")], _short())
    assert answer.version == "base"


def test_weights_are_written_in_place(bfloat16_llama: Path, start: Start) -> None:
    engine = start(bfloat16_llama, compute="float32")
    model = engine._forward._model
    places = {name: parameter.data_ptr() for name, parameter in model.named_parameters()}
    engine.set_weights(direction(1))
    assert places == {name: parameter.data_ptr() for name, parameter in model.named_parameters()}
    assert model.lm_head.weight is model.model.embed_tokens.weight


def _short() -> Sampling:
    return Sampling(max_new_tokens=1)
