"""The score store against a plain dict, through any order of calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from population.block import Block
from population.errors import StoreMismatch
from population.store import ScoreStore
from tests.population.blocks import IDENTITY, made, same


class StoreMachine(RuleBasedStateMachine):
    """A store against a dict, closed and reopened at any time."""

    @initialize()
    def start(self):
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.model: dict[tuple[str, str, int], Block] = {}
        self.open()

    def open(self):
        self.store = ScoreStore.open(Path(self.folder.name, "s"), IDENTITY)

    @rule(
        candidate=st.sampled_from("ab"),
        split=st.sampled_from(["support", "gate"]),
        number=st.integers(0, 3),
        seed=st.integers(0, 5),
        n=st.integers(1, 5),
    )
    def put(self, candidate, split, number, seed, n):
        block = made(candidate, split, number, n, seed)
        self.store.put(block)
        self.model.setdefault((candidate, split, number), block)

    @rule()
    def reopen(self):
        self.store.close()
        self.open()

    @rule(other=st.sampled_from([{}, {**IDENTITY, "task": "t3"}]))
    def open_as_another_search(self, other):
        with pytest.raises(StoreMismatch):
            ScoreStore.open(self.store.path, other)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def get(self, data):
        key = data.draw(st.sampled_from(sorted(self.model)))
        assert same(self.store.get(*key), self.model[key])

    @invariant()
    def tables_agree(self):
        if not hasattr(self, "store"):
            return
        for candidate in "ab":
            for split in ("support", "gate"):
                expected = [self.model[key] for key in sorted(self.model) if key[:2] == (candidate, split)]
                assert self.store.blocks(candidate, split) == {block.number: len(block) for block in expected}
                assert self.store.texts(candidate, split) == [
                    text for block in expected for text in block.texts
                ]
                found = self.store.scores(candidate, split)
                for name in ("values", "valid", "success"):
                    plain = [value for block in expected for value in getattr(block, name).tolist()]
                    assert getattr(found, name).tolist() == plain
                assert self.store.unjudged(candidate, split) == {
                    block.number: list(block.faults.values()) for block in expected
                }

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


TestStoreAgainstADict = StoreMachine.TestCase
TestStoreAgainstADict.settings = settings(
    max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
