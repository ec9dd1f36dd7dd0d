"""When scoring stops for want of valid verdicts, and how it goes on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from population.block import Block, Reason
from population.errors import VerdictsInvalid
from population.proposal import BASE
from population.scoring import score
from population.store import ScoreStore
from population.validity import Validity
from tests.population.test_scoring import IDENTITY, HashEngine, candidates, parity_task
from verify.verdict import Verdict

N = 10
TIMEOUT, CRASH = Reason("timeout", "stopped after 1 s"), Reason("exception", "KeyError: 'x'")


@pytest.fixture
def task():
    return parity_task()


@pytest.fixture
def store(tmp_path):
    with ScoreStore.open(tmp_path / "scores", IDENTITY) as opened:
        yield opened


def block(candidate: str, number: int, invalid: int, size: int = 5, reason: Reason = TIMEOUT) -> Block:
    valid = np.arange(size) >= invalid
    faults = dict.fromkeys(range(invalid), reason)
    zeros = np.zeros(size)
    return Block(
        candidate, "gate", number, zeros, valid, zeros > 0, zeros.astype(np.int32), ("",) * size, 0.0, faults
    )


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.sampled_from([0.5, 0.8, 0.98, 1.0]))
def test_it_complains_at_the_first_block_after_which_the_rate_is_missed_for_certain(
    invalid: list[int], least: float
) -> None:
    """Of candidates with one block of 5 prompts, by the definition: every verdict to come may be valid."""
    total, seen = 5 * len(invalid), 0
    validity = Validity("gate", least, len(invalid), 5)
    for number, count in enumerate(invalid):
        seen += count
        lost = total - seen < least * total - 1e-9 or 5 in invalid[: number + 1]
        if lost:
            with pytest.raises(VerdictsInvalid):
                validity.add(block(f"c{number}", 0, count))
            return
        validity.add(block(f"c{number}", 0, count))


def test_the_shortfall_names_the_worst_candidate_and_the_commonest_reason() -> None:
    validity = Validity("gate", 0.9, 3, 10)
    validity.add(block("a", 0, 1, reason=CRASH))
    validity.add(block("b", 0, 2))
    with pytest.raises(VerdictsInvalid) as caught:
        validity.add(block("c", 0, 1))
    assert caught.value.shortfall.to_json() == {
        "split": "gate",
        "candidate": "b",
        "candidates": 3,
        "verdicts": 15,
        "invalid": 4,
        "error": "timeout",
        "count": 3,
        "detail": "stopped after 1 s",
    }
    told = str(caught.value)
    assert "4 of 15 verdicts on gate are not valid, more than 10% of all 30; 3 times timeout: stopped" in told


def test_a_candidate_without_any_verdict_is_named_even_among_many_good_ones() -> None:
    validity = Validity("gate", 0.98, 1000, 10)
    validity.add(block("mute", 0, 5))
    with pytest.raises(VerdictsInvalid, match="no verdict on mute is valid on gate"):
        validity.add(block("mute", 1, 5))
    quiet = Validity("gate", 0.0, 1, 5)
    quiet.add(block("mute", 0, 5))


class Broken:
    """A verifier that cannot judge numbers that divide by three until it is mended."""

    def __init__(self, task) -> None:
        self.task, self.mended = task, False
        self.judged: Counter[str] = Counter()

    def __call__(self, item, completion):
        self.judged[item["question"]] += 1
        number = int(item["question"].split()[1])
        if number % 3 == 0 and not self.mended:
            return Verdict(0.0, False, error="timeout", detail=f"stopped at {number}")
        return self.task.verifier(item, completion)


def bad(task) -> list[bool]:
    return [int(item["question"].split()[1]) % 3 == 0 for item in task.splits["support"]]


def test_scoring_stops_as_soon_as_it_is_certain_and_keeps_what_was_generated(task, store):
    broken, engine = Broken(task), HashEngine()
    judged = replace(task, verifier=broken)
    least = 1 - (sum(bad(task)) + 0.5) / (6 * N)  # of six candidates, more than the first one's failures
    with pytest.raises(VerdictsInvalid, match="timeout: stopped at"):
        score(engine, judged, "support", candidates(), store, block_size=4, least_valid=least)
    generated = len(engine.calls("generate"))
    assert 4 <= generated < 18
    stored = [len(store.blocks(candidate.key, "support")) for candidate in candidates()]
    assert sum(stored) == generated
    assert stored[0] == 3


def test_stored_failures_count_without_any_work(task, store):
    judged = replace(task, verifier=Broken(task))
    score(HashEngine(), judged, "support", [BASE], store, block_size=4)
    engine = HashEngine()
    with pytest.raises(VerdictsInvalid):
        score(engine, judged, "support", [BASE], store, block_size=4, least_valid=0.98)
    assert engine.log == []


def test_what_could_not_be_judged_is_judged_again_from_its_completion(task, tmp_path):
    with ScoreStore.open(tmp_path / "whole", IDENTITY) as store:
        score(HashEngine(), task, "support", candidates(), store, block_size=4)
        digest = store.digest()
    broken = Broken(task)
    judged = replace(task, verifier=broken)
    with ScoreStore.open(tmp_path / "cut", IDENTITY) as store:
        with pytest.raises(VerdictsInvalid):
            score(HashEngine(), judged, "support", candidates(), store, block_size=4, least_valid=0.98)
        before = {c.key: store.texts(c.key, "support") for c in candidates()}
        stored = sum(len(store.blocks(c.key, "support")) for c in candidates())
        broken.mended = True
        engine = HashEngine()
        table = score(
            engine, judged, "support", candidates(), store, block_size=4, least_valid=0.98, again=True
        )
        assert len(engine.calls("generate")) == 18 - stored
        assert table.valid.all()
        assert store.digest() == digest
        for key, texts in before.items():
            assert store.texts(key, "support")[: len(texts)] == texts


def test_nothing_is_judged_again_unless_asked_for(task, store):
    broken = Broken(task)
    judged = replace(task, verifier=broken)
    one = score(HashEngine(), judged, "support", [BASE], store, block_size=4)
    calls = broken.judged.total()
    broken.mended = True
    two = score(HashEngine(), judged, "support", [BASE], store, block_size=4)
    assert broken.judged.total() == calls
    np.testing.assert_array_equal(one.valid, two.valid)
    assert one.valid[0].tolist() == [not failed for failed in bad(task)]


def test_a_verdict_that_was_valid_stays_when_its_block_is_judged_again(task, store):
    """A mended verifier that would now say something else about what it had judged."""
    broken = Broken(task)
    one = score(HashEngine(), replace(task, verifier=broken), "support", [BASE], store, block_size=4)
    other = replace(task, verifier=lambda item, completion: Verdict(7.0, True))
    two = score(HashEngine(), other, "support", [BASE], store, block_size=4, again=True)
    assert two.valid.all()
    assert two.values[0].tolist() == [
        7.0 if failed else value for failed, value in zip(bad(task), one.values[0].tolist(), strict=True)
    ]


def test_a_verifier_that_still_fails_stops_again_with_nothing_lost(task, store):
    broken = Broken(task)
    judged = replace(task, verifier=broken)
    for _ in range(2):
        with pytest.raises(VerdictsInvalid):
            score(HashEngine(), judged, "support", [BASE], store, block_size=4, least_valid=0.98, again=True)
    assert store.blocks("base", "support") != {}
