from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from verify.child import Child
from verify.kinds.kind import Ungradable

QUESTION = {"pattern": "a", "full": False, "text": "cat"}
ENDLESS = {"pattern": "(a+)+$", "full": False, "text": "a" * 50 + "b"}
ROOT = Path(__file__).parents[2]
PATTERN = ROOT / "verify" / "children" / "pattern.py"


def pid(child: Child) -> int:
    assert child._process is not None
    return child._process.pid


def gone(process: int, seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def test_one_process_answers_many_questions() -> None:
    child = Child(PATTERN)
    assert child.ask(QUESTION, 5.0) == {"passed": True}
    first = pid(child)
    assert child.ask({**QUESTION, "text": "dog"}, 5.0) == {"passed": False}
    assert pid(child) == first
    child.close()
    assert gone(first)


def test_it_is_replaced_after_a_timeout_and_after_a_murder() -> None:
    child = Child(PATTERN)
    child.ask(QUESTION, 5.0)
    first = pid(child)
    with pytest.raises(Ungradable) as caught:
        child.ask(ENDLESS, 0.1)
    assert caught.value.fault == "timeout"
    assert gone(first)
    assert child.ask(QUESTION, 5.0) == {"passed": True}
    os.kill(pid(child), signal.SIGKILL)
    assert child.ask(QUESTION, 5.0) == {"passed": True}
    child.close()


def test_the_wall_clock_ends_a_child_that_uses_no_cpu() -> None:
    child = Child(PATTERN)
    child.ask(QUESTION, 5.0)
    stopped = pid(child)
    os.kill(stopped, signal.SIGSTOP)
    with pytest.raises(Ungradable) as caught:
        child.ask(QUESTION, 0.05)
    assert caught.value.fault == "timeout"
    assert gone(stopped)
    child.close()


def test_it_ends_with_its_owner_object() -> None:
    child = Child(PATTERN)
    child.ask(QUESTION, 5.0)
    orphan = pid(child)
    del child
    gc.collect()
    assert gone(orphan)


def test_closing_is_repeatable_and_a_later_question_starts_another() -> None:
    child = Child(PATTERN)
    child.close()
    child.ask(QUESTION, 5.0)
    child.close()
    child.close()
    assert child.ask(QUESTION, 5.0) == {"passed": True}
    child.close()


def test_it_sees_no_environment_no_packages_and_no_open_files() -> None:
    with Path(__file__).open() as held:
        os.set_inheritable(held.fileno(), True)
        child = Child(PATTERN)
        child.ask(QUESTION, 5.0)
        process = psutil.Process(pid(child))
        assert set(process.environ()) <= {"LD_LIBRARY_PATH"}
        assert str(Path(__file__)) not in [file.path for file in process.open_files()]
        assert "-I" in process.cmdline()
        child.close()


PARENT = """
import sys, time
import verify
judge = verify.verifier("regex", pattern="(a+)+$", timeout=1.0)
judge({}, "a")
print(judge._child._process.pid, flush=True)
if sys.argv[1] == "busy":
    judge({}, "a" * 60 + "b")
time.sleep(600)
"""


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_kill_9_of_the_parent_leaves_no_orphan(state: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, state], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.2 if state == "busy" else 0)
    assert psutil.pid_exists(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(child)


def test_an_interpreter_that_exits_takes_its_child_with_it() -> None:
    source = PARENT.replace("time.sleep(600)", "")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source, "idle"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stderr == ""
    assert gone(int(done.stdout))


def script(folder: Path, body: str) -> Path:
    path = folder / "script.py"
    path.write_text(f"import os, subprocess, sys, time\n\ndef answer(question):\n    {body}\n")
    return path


def test_what_a_script_raises_is_a_fault_and_the_process_goes_on(tmp_path: Path) -> None:
    child = Child(script(tmp_path, "return {'half': 1 / question['n'], 'pid': os.getpid()}"))
    first = child.ask({"n": 2}, 5.0)
    with pytest.raises(Ungradable, match="ZeroDivisionError") as caught:
        child.ask({"n": 0}, 5.0)
    assert caught.value.fault == "exception"
    assert child.ask({"n": 2}, 5.0) == first
    child.close()


@pytest.mark.parametrize("body", ["os._exit(0)", "sys.exit(1)", "return {'long': 'x' * (1 << 23)}"])
def test_a_script_that_ends_or_floods_is_a_fault(tmp_path: Path, body: str) -> None:
    child = Child(script(tmp_path, body))
    with pytest.raises(Ungradable) as caught:
        child.ask({}, 5.0)
    assert caught.value.fault == "process"
    child.close()


def test_what_a_script_prints_and_reads_is_kept_out_of_the_conversation(tmp_path: Path) -> None:
    child = Child(script(tmp_path, "print('x' * 1_000_000); return {'read': sys.stdin.read()}"))
    assert [child.ask({"n": n}, 5.0) for n in range(3)] == [{"read": ""}] * 3
    child.close()


def test_a_script_gets_its_arguments_and_long_questions(tmp_path: Path) -> None:
    child = Child(script(tmp_path, "return {'got': [*sys.argv[1:], len(question['text'])]}"), ["a", "b"])
    assert child.ask({"text": "x" * 1_000_000}, 5.0) == {"got": ["a", "b", 1_000_000]}
    child.close()


def test_only_a_child_that_is_not_isolated_has_packages_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORP_TEST_WORD", "seen")
    found = "import importlib.util as u; return [os.environ.get('CORP_TEST_WORD'), bool(u.find_spec('yaml'))]"
    for isolated, expected in ((True, [None, False]), (False, ["seen", True])):
        child = Child(script(tmp_path, found), isolated=isolated)
        assert child.ask({}, 5.0) == expected
        child.close()


def test_what_a_script_started_ends_with_it(tmp_path: Path) -> None:
    start = "return {'pid': subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid}"
    child = Child(script(tmp_path, start), isolated=False)
    left = child.ask({}, 10.0)["pid"]
    assert psutil.pid_exists(left)
    os.kill(pid(child), signal.SIGKILL)
    child.close()
    assert gone(left)


def test_a_child_that_reads_nothing_does_not_hold_a_long_question() -> None:
    child = Child(PATTERN)
    child.ask(QUESTION, 5.0)
    os.kill(pid(child), signal.SIGSTOP)
    with pytest.raises(Ungradable) as caught:
        child.ask({**QUESTION, "text": "x" * 1_000_000}, 0.05)
    assert caught.value.fault == "timeout"
    child.close()
