"""A jobs database in a temporary directory, under a clock that the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from server.clock import Clock
from server.database import Database
from server.layout import Layout

SPEC: dict[str, Any] = {"name": "probe", "model": "/nowhere"}


@dataclass
class Time:
    """Seconds that pass when the test says so; wall and monotonic time run together."""

    now: float = 1_000.0
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(wall=lambda: 1_700_000_000 + self.now, monotonic=lambda: self.now)

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "data")


@pytest.fixture
def database(layout: Layout) -> Iterator[Database]:
    database = Database.open(layout.database)
    yield database
    database.close()
