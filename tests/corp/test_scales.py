"""Every scale table with every scope: scored, exported and rebuilt by the slow reference, all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import load_file

from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.engines.torch import TorchEngine
from population.scaletable import SCALES, scale_table
from population.scope import PRESETS
from population.sweep import SweepSums
from tests.corp.exports import export, reference, same_bits
from tests.corp.jobs import TASKS, ignore, never, pocket_job, pocket_spec


@pytest.fixture(scope="module")
def engine(tiny_llama: Path) -> Iterator[TorchEngine]:
    engine = TorchEngine(Checkpoint.open(tiny_llama), device="cpu", threads=1)
    yield engine
    engine.close()


@pytest.mark.parametrize("scope", sorted(PRESETS))
@pytest.mark.parametrize("kind", SCALES)
def test_what_a_table_scores_is_what_it_exports(
    kind: str, scope: str, engine: TorchEngine, tiny_llama: Path, tmp_path: Path
) -> None:
    checkpoint = Checkpoint.open(tiny_llama)
    law = Law(scope=scope, scale=scale_table(checkpoint, kind, Law(scope=scope)))
    direction = Direction((Component(1, 0.03), Component(2, -0.02)), law, 0.5)
    engine.set_weights(direction)
    scored = engine.digest()
    with SweepSums.build(checkpoint, [direction], tmp_path / "sums") as sums:
        engine.set_weights(None)
        engine.set_staged(sums, 0, direction.step)
        assert engine.digest() == scored
    assert export(tiny_llama, tmp_path / "out", direction).weights == scored
    exported = load_file(tmp_path / "out" / "model.safetensors")
    for name, tensor in reference(tiny_llama, "bfloat16", direction).items():
        assert same_bits(exported[name], tensor)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "scope"), [("rms", "mlp"), ("modular", "all"), ("rms", "no-norms")])
def test_a_whole_run_with_a_table(kind: str, scope: str, pocket: Path, tmp_path: Path) -> None:
    """From calibration to an export that its audit rebuilds from the recipe; and the same job resumes."""
    from corp.run import execute

    spec = pocket_spec(
        pocket,
        population={"size": 60, "seed": 3, "scale": kind, "scope": scope},
        controls={"enabled": False},
        task={
            **pocket_job(pocket)["task"],
            "splits": {"support": 300, "select": 300, "gate": 600, "test": 10},
        },
    )
    reports = [execute(spec, tmp_path / "run", folder=TASKS, emit=ignore, cancelled=never) for _ in range(2)]
    assert reports[0] == reports[1]
    assert reports[0]["outcome"] == "improved"
