from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from population.checkpoint import Checkpoint
from population.engines.torch import TorchEngine
from tests.population.engines import tiny


@pytest.fixture(scope="session")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A float32 checkpoint per family."""
    folder = tmp_path_factory.mktemp("families")
    return {family: tiny.save(family, folder / family) for family in tiny.FAMILIES}


@pytest.fixture(scope="session")
def bfloat16_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save("llama", tmp_path_factory.mktemp("bfloat16") / "llama", dtype="bfloat16", template=True)


@pytest.fixture
def start() -> Iterator[Callable[..., TorchEngine]]:
    """Start engines on one thread; they are closed after the test."""
    engines: list[TorchEngine] = []

    def make(path: Path, kind: type[TorchEngine] = TorchEngine, **options: Any) -> TorchEngine:
        engines.append(kind(Checkpoint.open(path), device="cpu", threads=1, **options))
        return engines[-1]

    yield make
    for engine in reversed(engines):
        engine.close()
