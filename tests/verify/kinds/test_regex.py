from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from verify import verifier

CATASTROPHE = r"(a+)+$"


@pytest.mark.parametrize(
    ("pattern", "mode", "completion", "value"),
    [
        (r"\d+", "search", "it is 42.", 1),
        (r"\d+", "full", "it is 42.", 0),
        (r"\d+", "full", "42\n", 1),
        (r"^\d+$", "search", " 42 ", 1),
        (r"(?i)yes", "full", "YES", 1),
        (r"(?s)a.b", "search", "a\nb", 1),
        ("é😀", "full", "é😀", 1),
        ("[\\ud800]", "search", "\ud800", 1),
        ("", "full", "", 1),
    ],
)
def test_a_pattern_is_found_or_is_all(pattern: str, mode: str, completion: str, value: float) -> None:
    judge = verifier("regex", pattern=pattern, mode=mode)
    assert judge({}, completion).value == value
    judge.close()


def test_a_catastrophic_match_is_stopped_and_the_next_one_works() -> None:
    judge = verifier("regex", pattern=CATASTROPHE, timeout=0.2)
    for _ in range(2):
        assert judge({}, "aaa").value == 1
        started = time.monotonic()
        verdict = judge({}, "a" * 40 + "b")
        assert (verdict.value, verdict.valid, verdict.error) == (0, False, "timeout")
        assert time.monotonic() - started < 60  # unstopped it takes 2^40 steps, hours
    assert judge({}, "aaa").value == 1
    judge.close()


def test_one_slow_match_spoils_no_other_verdict_in_a_pool() -> None:
    judge = verifier("regex", pattern=CATASTROPHE, timeout=0.2)
    texts = ["aaa", "a" * 40 + "b", "b", "aab", "aa"] * 3
    with ThreadPoolExecutor(max_workers=8) as pool:
        verdicts = list(pool.map(lambda text: judge({}, text), texts))
    expected = [(1, None), (0, "timeout"), (0, None), (0, None), (1, None)] * 3
    assert [(verdict.value, verdict.error) for verdict in verdicts] == expected
    judge.close()


def test_items_may_bring_their_own_pattern() -> None:
    judge = verifier("regex", field="want", mode="full")
    assert judge.fields == ("want",)
    assert judge({"want": "a+"}, "aaa").value == 1
    assert judge({"want": "a+"}, "aab").value == 0
    for bad in ("(", 7, "a" * 10_001):
        verdict = judge({"want": bad}, "a")
        assert (verdict.valid, verdict.error) == (False, "item_value")
    assert judge({}, "a").error == "item_field"
    judge.close()


def test_a_catastrophe_in_a_schema_is_stopped_too() -> None:
    judge = verifier("json_schema", schema={"type": "string", "pattern": CATASTROPHE}, timeout=0.2)
    assert judge({}, '"aaa"').value == 1
    assert judge({}, f'"{"a" * 40}b"').error == "timeout"
    assert judge({}, '"aaa"').value == 1
    judge.close()
