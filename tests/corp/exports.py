"""Exports of small checkpoints, and what to compare them with."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from corp.export import ExportReport, materialise
from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.merge import Merge
from population.noise_reference import perturbed
from population.scope import select
from tests.population.merge_reference import merged_weights

# The seeds lie at both ends of their range, and the amplitudes differ in sign.
DIRECTION = Direction((Component(3, 0.02), Component(2**64 - 1, -0.01), Component(17, 0.005)), Law(), 0.75)
TIES = replace(DIRECTION, merge=Merge("ties", 0.3, (0.5, 0.3, 0.2), sign_weighting="paper"))
DARE = replace(DIRECTION, merge=Merge("dare", 0.3, (0.5, 0.3, 0.2), rescale="l1"))


def export(model: Path, target: Path, direction: Direction = DIRECTION, **options: Any) -> ExportReport:
    checkpoint = Checkpoint.open(model)
    storage = options.pop("storage", checkpoint.storage)
    return materialise(checkpoint, direction, storage, target, base_id=str(model), **options)


def reference(model: Path, storage: str, direction: Direction = DIRECTION) -> dict[str, torch.Tensor]:
    """Every stored tensor of ``model`` under ``direction``, by the slow reference."""
    checkpoint = Checkpoint.open(model)
    stored: dict[str, torch.Tensor] = {}
    for file in checkpoint.files:
        stored |= load_file(model / file)
    inside = select(checkpoint.tensors, direction.law.scope)
    return {
        name: _moved(stored[name], direction, name, storage)
        if name in inside
        else stored[name].to(getattr(torch, storage))
        for name in checkpoint.tensors
    }


def _moved(base: torch.Tensor, direction: Direction, name: str, storage: str) -> torch.Tensor:
    if direction.merge is not None:
        return merged_weights(base, direction, name, storage)
    return perturbed(base, direction.law, name, direction.components, direction.step, storage)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one.view(torch.uint8), other.view(torch.uint8))


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
