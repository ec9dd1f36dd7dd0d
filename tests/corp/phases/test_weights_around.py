"""Weights of candidates around a centre, from sums that they share, against each built by itself."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from corp.phases.staging import Stage
from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.engines.torch import TorchEngine
from population.local import Axes, local
from population.proposal import Candidate, around, isotropic

LAWS = [Law(), Law(scheme="tied", scope="no-embeddings"), Law("lowrank", 2)]


def centre(law: Law) -> Candidate:
    """Twenty components under a step that is not 1, as an anchored centre has."""
    components = [Component(seed, 0.003 * (-1) ** seed / (1 + seed)) for seed in range(20)]
    return Candidate("centre", Direction(tuple(components), law, 0.7), 0.01)


def axes() -> Axes:
    """Axes that share seeds 10 to 19 with the centre and bring 20 to 29."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 3)))[0].T
    return Axes(tuple(range(10, 30)), (3.0, 2.0, 1.0), tuple(map(tuple, basis.tolist())))


@pytest.mark.parametrize("law", LAWS, ids=["full", "tied", "lowrank"])
def test_candidates_around_a_centre_get_the_bits_that_each_gets_by_itself(
    tiny_llama: Path, tmp_path: Path, law: Law
) -> None:
    checkpoint = Checkpoint.open(tiny_llama)
    middle = centre(law)
    candidates = [
        middle,
        *around(middle, isotropic(3, [0.01, 0.02], 5, law), "r1-"),
        *around(middle, local(3, 0.01, 0.5, axes(), 5, law, first=3), "r2-"),
    ]
    with closing(TorchEngine(checkpoint, device="cpu", threads=1)) as engine:
        prepared = SimpleNamespace(
            checkpoint=checkpoint,
            perturbed=lambda: 1,
            spec=SimpleNamespace(engine=SimpleNamespace(threads=1)),
        )
        run = cast(Any, SimpleNamespace(prepared=prepared, target=tmp_path, engine=engine))
        shared = []
        with Stage(run, candidates) as stage:
            for candidate in candidates:
                shared.append((stage.switch(engine, candidate), engine.digest()))
            assert stage.passes == 1
        alone = [(engine.set_weights(candidate.direction), engine.digest()) for candidate in candidates]
        base = engine.set_weights(None), engine.digest()
    assert shared == alone
    assert len({*shared, base}) == len(candidates) + 1
