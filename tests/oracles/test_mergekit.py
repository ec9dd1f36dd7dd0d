"""ties and dare against mergekit itself, on materialised deltas of a few tensors of the pocket model."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

from population.direction import Component, Direction, Law
from population.merge import Merge
from population.noise_reference import noise
from population.sums import TensorSum
from tests.oracles.mergekit_venv import interpreter
from tests.population.merge_reference import kept_by_dare

NAMES = (  # of different shapes
    "model.embed_tokens.weight",
    "model.layers.0.input_layernorm.weight",
    "model.layers.0.mlp.down_proj.weight",
    "model.layers.1.mlp.gate_proj.weight",
    "model.layers.2.self_attn.q_proj.weight",
)
WIDE = "wide.weight"  # large enough for hundreds of equal magnitudes, of which a trim cuts through some
SEEDS = (3, 11, 2**64 - 1, 42, 7, 1234567890123)
SIGMAS = (5e-4, 1e-3, 2e-3, 5e-4, 1e-3, 2e-3)
WEIGHTS = (0.31, 0.07, 0.22, 0.05, 0.17, 0.18)
UNIFORM = (1.0,) * 6


@dataclass(frozen=True)
class Oracle:
    """Base and members as files, and mergekit."""

    python: Path
    folder: Path
    base: dict[str, torch.Tensor]

    def merged(self, config: dict[str, Any], masks: dict[str, torch.Tensor] | None = None) -> Any:
        """out - base of mergekit's run, float64, by tensor."""
        paths = [self.folder / "config.yml", self.folder / "out"]
        paths[0].write_text(yaml.safe_dump(config))
        if masks is not None:
            paths.append(self.folder / "masks.safetensors")
            save_file(masks, paths[2])
        script = Path(__file__).with_name("mergekit_run.py")
        command = [str(self.python), "-I", str(script), *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-2000:]
        found = load_file(self.folder / "out" / "model.safetensors")
        assert found.keys() == self.base.keys()
        return {name: (found[name] - self.base[name]).numpy().reshape(-1) for name in found}


@pytest.fixture(scope="module")
def oracle(pocket: Path, tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    """Files in float64, so that base + delta - base is the delta and no rounding blurs a threshold."""
    python = interpreter()
    if python is None:
        pytest.skip("mergekit is not installed; `python -m tests.oracles.mergekit_venv` does it")
    folder = tmp_path_factory.mktemp("mergekit")
    stored = load_file(pocket / "model.safetensors")
    base = {name: stored[name].double() for name in NAMES}
    base[WIDE] = torch.linspace(-0.5, 0.5, 400 * 350, dtype=torch.float64).reshape(400, 350)
    assert len({tensor.shape for tensor in base.values()}) == len(base)
    save_file(base, folder / "base.safetensors")
    for k, (seed, sigma) in enumerate(zip(SEEDS, SIGMAS, strict=True)):
        member = {
            name: tensor + np.float32(sigma) * noise(seed, Law(), name, tuple(tensor.shape)).double()
            for name, tensor in base.items()
        }
        save_file(member, folder / f"member-{k}.safetensors")
    return Oracle(python, folder, base)


def config(oracle: Oracle, method: str, merge: Merge) -> dict[str, Any]:
    return {
        "merge_method": method,
        "base_model": str(oracle.folder / "base.safetensors"),
        "models": [
            {
                "model": str(oracle.folder / f"member-{k}.safetensors"),
                "parameters": {"weight": weight, "density": merge.density},
            }
            for k, weight in enumerate(merge.weights)
        ],
        "parameters": {"normalize": merge.normalize},
        "dtype": "float64",
    }


def ours(merge: Merge, name: str, shape: tuple[int, ...]) -> np.ndarray:
    components = tuple(Component(*pair) for pair in zip(SEEDS, SIGMAS, strict=True))
    sums = np.empty(int(np.prod(shape)), np.float32)
    TensorSum(Direction(components, Law(), 1.0, merge), name, shape).fill(sums)
    return sums


def cut(name: str, shape: tuple[int, ...], density: float) -> np.ndarray:
    """Elements at the threshold of some member, equal magnitudes among which mergekit's sort picks freely."""
    found = np.zeros(int(np.prod(shape)), bool)
    for seed in SEEDS:
        sizes = noise(seed, Law(), name, shape).abs().numpy().reshape(-1)
        keep = max(1, int(density * sizes.size))
        threshold = np.sort(sizes)[-keep]
        if (sizes >= threshold).sum() > keep:
            found |= sizes == threshold
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("density", "weights", "weighting", "normalize"),
    [
        (0.2, WEIGHTS, "mergekit", True),
        (0.5, WEIGHTS, "mergekit", False),
        (1.0, WEIGHTS, "mergekit", True),
        (0.2, UNIFORM, "paper", True),  # with equal weights both elect the same signs
        (0.5, UNIFORM, "paper", False),
    ],
)
def test_ties_equals_mergekit(
    oracle: Oracle, density: float, weights: tuple[float, ...], weighting: str, normalize: bool
) -> None:
    merge = Merge("ties", density, weights, sign_weighting=weighting, normalize=normalize)
    theirs = oracle.merged(config(oracle, "ties", merge))
    for name, tensor in oracle.base.items():
        shape = tuple(tensor.shape)
        free = cut(name, shape, density)
        assert free.mean() < 2e-3
        difference = np.abs(ours(merge, name, shape) - theirs[name])[~free]
        assert difference.max() <= 1e-6 * np.abs(theirs[name]).max(), name


@pytest.mark.slow
def test_weighted_sign_election_is_where_paper_and_mergekit_differ(oracle: Oracle) -> None:
    merge = Merge("ties", 0.5, WEIGHTS, sign_weighting="paper")
    theirs = oracle.merged(config(oracle, "ties", merge))
    shape = tuple(oracle.base[WIDE].shape)
    differs = np.abs(ours(merge, WIDE, shape) - theirs[WIDE]) > 1e-6 * max(SIGMAS)
    assert 0.05 < differs.mean() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rescale", "density", "normalize"), [("l1", 0.1, True), ("l1", 0.5, False), ("none", 0.2, False)]
)
def test_dare_linear_equals_mergekit_on_our_masks(
    oracle: Oracle, rescale: str, density: float, normalize: bool
) -> None:
    merge = Merge("dare", density, WEIGHTS, rescale=rescale, normalize=normalize)
    masks = {
        f"{name}/{k}": torch.from_numpy(
            kept_by_dare(seed, name, tensor.numel(), density).astype(np.float32)
        ).reshape(tensor.shape)
        for name, tensor in oracle.base.items()
        for k, seed in enumerate(SEEDS)
    }
    settings = config(oracle, "dare_linear", merge)
    settings["parameters"]["rescale"] = rescale == "l1"
    theirs = oracle.merged(settings, masks)
    for name, tensor in oracle.base.items():
        difference = np.abs(ours(merge, name, tuple(tensor.shape)) - theirs[name])
        assert difference.max() <= 1e-6 * np.abs(theirs[name]).max(), name
