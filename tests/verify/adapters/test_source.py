"""Graders given as text: they run in the sandbox or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from verify import Verifier, verifier
from verify.sandbox import Level, level
from verify.verdict import Fault

pytestmark = pytest.mark.skipif(level() is not Level.STRICT, reason="this machine has no strict sandbox")

SOURCE = """
import os, re, sys, time

def grade(item, completion, scale=1.0):
    if completion == "hang":
        while True: pass
    if completion == "sleep":
        time.sleep(60)
    if completion == "exit":
        os._exit(0)
    if completion == "quit":
        sys.exit(0)
    if completion == "raise":
        raise ValueError("no")
    if completion == "read":
        return float(len(open("/etc/hostname").read()) > 0)
    if completion == "write":
        open("/tmp/canary_of_source", "w").write("x")
    if completion == "text":
        return "1.0"
    if completion == "none":
        return None
    if completion == "nan":
        return float("nan")
    if completion == "big":
        return 10 ** 400
    if completion == "huge":
        return "x" * 10 ** 7
    if completion == "object":
        return object()
    if completion == "parts":
        return {"value": 1.1, "success": False, "words": 2}
    return scale * (re.sub(r"\\\\s", "", completion) == item["answer"])
""".replace("\\\\", "\\")


@pytest.fixture(scope="module")
def judge() -> Iterator[Verifier]:
    made = verifier("function", source=SOURCE, timeout=0.5)
    yield made
    made.close()


def test_source_grades_and_gives_parts(judge: Verifier) -> None:
    item = {"answer": "é'\"\\n", "n": [1, None, True, {"a": 0.5}]}
    assert [judge(item, text).value for text in (" é'\"\\n", "x")] == [1, 0]
    verdict = judge(item, "parts")
    assert (verdict.value, verdict.success, verdict.components) == (1.1, False, {"success": 0, "words": 2})
    scaled = verifier("function", source=SOURCE, arguments={"scale": 0.5})
    assert scaled({"answer": "a"}, "a").value == 0.5


@pytest.mark.parametrize(
    ("completion", "fault"),
    [
        ("hang", Fault.TIMEOUT),
        ("sleep", Fault.TIMEOUT),
        ("exit", Fault.PROCESS),
        ("quit", Fault.EXCEPTION),
        ("raise", Fault.EXCEPTION),
        ("read", Fault.EXCEPTION),
        ("write", Fault.EXCEPTION),
        ("text", Fault.RESULT),
        ("none", Fault.NOT_APPLICABLE),
        ("nan", Fault.NOT_FINITE),
        ("big", Fault.EXCEPTION),
        ("huge", Fault.RESULT),
        ("object", Fault.EXCEPTION),
    ],
)
def test_what_source_does_wrong_is_no_verdict(judge: Verifier, completion: str, fault: Fault) -> None:
    verdict = judge({"answer": "a"}, completion)
    assert (verdict.value, verdict.valid, verdict.error) == (0, False, fault), verdict
    assert not Path("/tmp/canary_of_source").exists()


def test_source_never_runs_in_this_process() -> None:
    marker = "import sys; sys.modules['ran_in_the_parent'] = sys\n"
    judge = verifier("function", source=marker + "def grade(item, completion): return 1.0")
    assert judge({}, "x").value == 1
    import sys

    assert "ran_in_the_parent" not in sys.modules


def test_a_completion_is_data_whatever_it_spells(judge: Verifier) -> None:
    for text in ("', 1) or (1.0", "\0\n\"\"\"'''", "{x}", "a" * 30_000, "\ud800"):
        verdict = judge({"answer": "right"}, text)
        assert verdict.valid
        assert verdict.value == 0
