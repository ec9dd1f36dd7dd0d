"""How programs end, by the public way."""

from __future__ import annotations

import pytest

from tests.verify.sandbox.machine import strict
from verify.sandbox import Level, Limits, Outcome, Program, check, evaluate, evaluate_many

pytestmark = strict

SHORT = Limits(cpu=0.3, wall=20.0, memory=160)

ENDS: dict[str, tuple[str, list[str], Outcome]] = {
    "values": ("def f(x): return x + 1", ["f(1)", "f(2)"], Outcome.OK),
    "nothing asked": ("x = 1", [], Outcome.OK),
    "raises": ("raise ValueError('no')", ["1"], Outcome.EXCEPTION),
    "call raises": ("", ["1", "1 / 0"], Outcome.EXCEPTION),
    "no Python": ("def f(:", [], Outcome.EXCEPTION),
    "call is no expression": ("", ["x = 1"], Outcome.EXCEPTION),
    "NUL in source": ("x = 1\0", [], Outcome.EXCEPTION),
    "surrogate in source": ("x = '\ud800'", [], Outcome.EXCEPTION),
    "parentheses": ("(" * 100_000, [], Outcome.EXCEPTION),
    "megabytes of source": ("#" * (17 << 20), [], Outcome.EXCEPTION),
    "a value that is not plain": ("", ["object()"], Outcome.EXCEPTION),
    "a value too deep": ("x = []\nfor _ in range(100_000): x = [x]", ["x"], Outcome.EXCEPTION),
    "exits": ("import sys; sys.exit(0)", ["1"], Outcome.EXCEPTION),
    "interrupts": ("raise KeyboardInterrupt", [], Outcome.EXCEPTION),
    "recursion": ("def f(): return f()", ["f()"], Outcome.EXCEPTION),
    "a library that is not there": ("import numpy", [], Outcome.EXCEPTION),
    "its own message raises": ("class E(Exception):\n def __str__(s): 1 / 0\nraise E", [], Outcome.EXCEPTION),
    "loops": ("while True: pass", [], Outcome.TIMEOUT),
    "a number too large": ("10 ** 10 ** 9", [], Outcome.TIMEOUT),
    "regular expression": ("import re; re.match('(a+)+$', 'a' * 50 + 'b')", [], Outcome.TIMEOUT),
    "catches the timer": (
        "import signal, time\nclass Late(BaseException): pass\ndef late(*_): raise Late\n"
        "def busy(seconds):\n while time.process_time() < seconds: pass\n"
        "signal.signal(signal.SIGPROF, late)\ntry: busy(9)\nexcept Late: busy(0.7)",
        ["1"],
        Outcome.TIMEOUT,
    ),
    "ignores its timer": (
        "import signal\nfor s in (signal.SIGPROF, signal.SIGXCPU): signal.signal(s, signal.SIG_IGN)\n"
        "while True: pass",
        [],
        Outcome.TIMEOUT,
    ),
    "allocates": ("x = bytearray(1 << 40)", [], Outcome.MEMORY),
    "allocates bit by bit": ("x = []\nwhile True: x.append(bytearray(1 << 24))", [], Outcome.MEMORY),
    "crashes": ("import ctypes; ctypes.string_at(0)", [], Outcome.KILLED),
    "aborts": ("import os; os.abort()", [], Outcome.KILLED),
    "another architecture's calls": (
        "import ctypes, platform\nif platform.machine() == 'x86_64': ctypes.CDLL(None).syscall(0x40000027)\n"
        "else: ctypes.string_at(0)",
        [],
        Outcome.KILLED,
    ),
    "leaves without an answer": ("import os; os._exit(0)", ["1"], Outcome.PROTOCOL),
    "leaves after garbage": ("import os; os.write(1, b'[' * 100_000); os._exit(0)", [], Outcome.PROTOCOL),
    "answers too little": (
        "import os; os.write(1, b'{\"values\": []}'); os._exit(0)",
        ["1"],
        Outcome.PROTOCOL,
    ),
    "closes everything": ("import os; os.closerange(0, 99)", ["1"], Outcome.PROTOCOL),
    "says that its cage is open": ("import os; os.write(3, b'-x'); os._exit(1)", [], Outcome.PROTOCOL),
    "breaks its way out": ("import os; os._exit = lambda status: None", ["1"], Outcome.PROTOCOL),
    "a long value": ("", ["'a' * 10_000_000"], Outcome.FLOOD),
    "writes without end": ("import os\nwhile True: os.write(1, b'x' * 60_000)", [], Outcome.FLOOD),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_program_ends_as_it_must(name: str) -> None:
    source, calls, outcome = ENDS[name]
    result = evaluate(source, calls, limits=SHORT)
    assert (result.verdict, result.level) == (outcome, Level.STRICT), result.detail
    if outcome is not Outcome.OK:
        assert result.values == ()
        assert result.detail
        assert result.detail.isprintable()


def test_a_sleeper_is_stopped_by_the_clock() -> None:
    result = evaluate("import time; time.sleep(60)", [], limits=Limits(wall=0.2))
    assert result.verdict is Outcome.TIMEOUT
    assert "by the clock" in result.detail


def test_values_are_those_of_the_calls_in_order() -> None:
    source = "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen), x"
    result = evaluate(source, ["f('a')", "f('b')", "seen"], setup="f('before')")
    assert result.values == ((2, "a"), (3, "b"), ["before", "a", "b"])


def test_source_is_a_module_that_is_not_started_as_a_script() -> None:
    source = """
import pickle
from dataclasses import dataclass
from typing import ClassVar
if __name__ == "__main__":
    raise SystemExit("a script")
@dataclass
class Point:
    kind: "ClassVar[str]" = "point"
    x: int = 0
def kinds(): return Point.__annotations__["x"] is int
"""
    result = evaluate(source, ["pickle.loads(pickle.dumps(Point(3))).x", "kinds()"])
    assert result.values == (3, True)


def test_a_program_answers_the_same_every_time() -> None:
    programs = [
        Program(f"# {number}\nimport random", ["list({'a', 'b', 'c', 'd'})", "random.random()"])
        for number in range(6)
    ]
    assert len({repr(result.values) for result in evaluate_many(programs)}) == 1


def test_detail_is_one_clean_line() -> None:
    result = evaluate("raise ValueError('a\\nb\\x00\\ud800' + 'c' * 10_000)", [])
    assert result.detail.startswith("ValueError: a b")
    assert len(result.detail) <= 500
    assert result.detail.encode()


@pytest.mark.parametrize(
    ("call", "expected", "outcome"),
    [
        ("f(2)", 4, Outcome.OK),
        ("float(f(2))", 4, Outcome.OK),  # as the data set's own == would
        ("f(2)", 5, Outcome.WRONG),
        ("str(f(2))", 4, Outcome.WRONG),
        ("Equal()", 4, Outcome.EXCEPTION),
        ("Sly(5)", 4, Outcome.WRONG),
        ("Sly(4)", 4, Outcome.OK),
    ],
)
def test_answers_are_compared_outside(call: str, expected: object, outcome: Outcome) -> None:
    source = """
def f(x): return x * x
class Equal:
    def __eq__(self, other): return True
class Sly(int):
    def __eq__(self, other): return True
    def __hash__(self): return 0
"""
    result = check(source, [call], [expected])
    assert result.verdict is outcome
    assert (result.detail == "") == (outcome is Outcome.OK)


def test_expected_values_are_nowhere_in_the_child() -> None:
    secret = "48151623"
    source = """
import gc, sys
def everything():
    frames, frame = [], sys._getframe()
    while frame: frames.append(repr(frame.f_locals)); frame = frame.f_back
    return any('SECRET'[::-1] in text for text in frames + [repr(o) for o in gc.get_objects()])
""".replace("SECRET", secret[::-1])
    result = check(source, ["everything()"], [secret])
    assert (result.verdict, result.values) == (Outcome.WRONG, (False,))


def test_one_expected_value_for_each_call() -> None:
    with pytest.raises(ValueError, match="1 expected values for 2 calls"):
        check("", ["1", "2"], [1])


@pytest.mark.parametrize("limits", [{"cpu": 0}, {"wall": -1}, {"memory": 1}, {"output": 0}])
def test_limits_that_nothing_can_run_in_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="limits of"):
        Limits(**limits)  # type: ignore[arg-type]
