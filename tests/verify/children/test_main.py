from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import verify.children

CHILDREN = Path(verify.children.__file__).parent
SCRIPTS = [str(CHILDREN / "main.py"), str(CHILDREN / "pattern.py")]


def run(*questions: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run(
        [sys.executable, "-I", "-S", *SCRIPTS], input=lines, capture_output=True, text=True, check=False
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def regex(pattern: str, text: str, cpu: float = 10.0, wall: float = 100.0) -> dict[str, Any]:
    return {"pattern": pattern, "text": text, "full": True, "cpu": cpu, "wall": wall}


def test_it_says_ready_answers_in_order_and_ends_with_its_input() -> None:
    code, answers = run(regex("a", "a"), regex("a", "b"))
    assert (code, answers) == (0, [{"ready": True}, {"passed": True}, {"passed": False}])


def test_the_kernel_ends_it_at_the_cpu_limit_without_any_parent() -> None:
    code, answers = run(regex("a", "a"), regex("(a+)+b", "a" * 60, cpu=0.1), regex("a", "a"))
    assert code == -signal.SIGPROF
    assert answers == [{"ready": True}, {"passed": True}]


def test_the_kernel_ends_it_at_the_wall_limit_too() -> None:
    code, answers = run(regex("(a+)+b", "a" * 60, wall=0.1), regex("a", "a"))
    assert (code, answers) == (-signal.SIGALRM, [{"ready": True}])


def test_the_limit_is_for_each_question_and_not_for_all_together() -> None:
    # Each match takes some 10 ms; together they take far more than the limit.
    slow = regex("(a|aa)+b", "a" * 24, cpu=0.5)
    code, answers = run(*[slow] * 100)
    assert code == 0
    assert answers[1:] == [{"passed": False}] * 100


def test_a_bad_pattern_is_an_answer() -> None:
    _, answers = run(regex("(", "a"))
    assert "not a regular expression" in answers[1]["bad"]
