from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.verify.adapters.graders import MODULE
from verify import Verifier, verifier


class Make(Protocol):
    def __call__(self, kind: str, **params: Any) -> Verifier: ...


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the module `users_graders` lies."""
    target = tmp_path_factory.mktemp("graders")
    (target / "users_graders.py").write_text(MODULE.replace("\\\\n", "\\n"))
    return target


@pytest.fixture
def make(folder: Path) -> Iterator[Make]:
    """Verifiers over that module, closed after the test."""
    made: list[Verifier] = []

    def one(kind: str, **params: Any) -> Verifier:
        made.append(verifier(kind, **{"path": str(folder), **params}))
        return made[-1]

    yield one
    for judge in made:
        judge.close()


@pytest.fixture(scope="session")
def hostile(folder: Path) -> Iterator[Verifier]:
    """The grader that does what the completion says."""
    judge = verifier("function", object="users_graders:hostile", path=str(folder))
    yield judge
    judge.close()
