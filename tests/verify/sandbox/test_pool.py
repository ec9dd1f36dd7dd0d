"""Many programs, many threads, and processes that end when they should not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.verify.sandbox.machine import strict
from tests.verify.sandbox.processes import alive, children, eventually, zygotes
from verify.errors import SandboxUnavailable
from verify.sandbox import Layers, Limits, Outcome, Pool, Program
from verify.sandbox import pool as pool_module

pytestmark = strict

SLEEP = "import time\ntime.sleep(100)"
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2, cached=False) as made:
        yield made


def numbered(count: int) -> list[Program]:
    return [Program(f"def f(): return {number}", ["f()"]) for number in range(count)]


def test_many_programs_keep_their_order(pool: Pool) -> None:
    assert [result.values for result in pool.evaluate_many(numbered(60))] == [(n,) for n in range(60)]


def test_threads_share_a_pool(pool: Pool) -> None:
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(pool.run, numbered(80)))
    assert [result.values for result in results] == [(n,) for n in range(80)]


def test_programs_do_not_see_each_other(pool: Pool) -> None:
    leave = "import builtins, math, sys\nbuiltins.left = math.left = sys.modules['left'] = 1"
    look = "import builtins, math, sys"
    for _ in range(3):
        assert pool.evaluate(leave, []).verdict is Outcome.OK
        seen = pool.evaluate(
            look, ["hasattr(builtins, 'left') or hasattr(math, 'left') or 'left' in sys.modules"]
        )
        assert seen.values == (False,)


def test_a_program_that_was_stopped_before_it_was_read_answers_nobody_else(pool: Pool) -> None:
    """The next program comes through the same pipe."""
    for number in range(40):
        early = Limits(wall=0.0002 * (number + 1))
        stopped = pool.evaluate("", ["'the stopped one'"], limits=early)
        assert stopped.verdict is Outcome.TIMEOUT or stopped.values == ("the stopped one",)
        assert pool.evaluate("", [str(number)]).values == (number,)


def test_a_large_program_that_ends_early_leaves_nothing_behind(pool: Pool) -> None:
    large = "import os; os._exit(0)\n" + "#" * 3_000_000
    for number in range(5):
        assert pool.evaluate(large, ["1"]).verdict is Outcome.PROTOCOL
        assert pool.evaluate("", [str(number)]).values == (number,)


def test_a_known_program_is_not_run_again() -> None:
    now = Program("import time", ["time.time_ns()"])
    with Pool(1) as caching, Pool(1, cached=False) as forgetful:
        assert caching.run(now) == caching.run(now)
        assert forgetful.run(now) != forgetful.run(now)
        assert caching.run(now) != caching.run(Program("import time ", ["time.time_ns()"]))
        assert caching.run(now) != caching.run(Program("import time", ["time.time_ns()"], "1"))
        assert caching.run(now) != caching.run(Program("import time", ["time.time_ns()"], "", Limits(cpu=1)))


def test_what_the_clock_ended_is_tried_again() -> None:
    with Pool(1) as caching:
        first = caching.evaluate(SLEEP, [], limits=Limits(wall=0.05))
        again = caching.evaluate(SLEEP, [], limits=Limits(wall=0.05))
    assert first.verdict is again.verdict is Outcome.TIMEOUT
    assert first is not again


def test_what_its_own_work_ended_is_not_tried_again() -> None:
    with Pool(1) as caching:
        for source in ("while True: pass", "x = bytearray(1 << 40)", "1 / 0", "import os; os._exit(0)"):
            first = caching.evaluate(source, [], limits=Limits(cpu=0.1))
            assert caching.evaluate(source, [], limits=Limits(cpu=0.1)) is first


def test_the_cache_forgets_what_was_not_asked_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_CACHED", 2)
    one, two, three = (Program("import time", ["time.time_ns()"], str(number)) for number in range(3))
    with Pool(1) as caching:
        first, second = caching.run(one), caching.run(two)
        assert caching.run(one) is first or caching.run(one) == first
        caching.run(three)
        assert caching.run(one) == first
        assert caching.run(two) != second


@settings(max_examples=60)
@given(data=st.binary(max_size=300), leave=st.booleans())
def test_any_bytes_on_the_pipe_are_a_defined_end(pool: Pool, data: bytes, leave: bool) -> None:
    end = "os._exit(0)" if leave else "None"
    result = pool.evaluate(f"import os\nos.write(1, {data!r})\n{end}", ["1"])
    expected = Outcome.OK if not data.strip() and not leave else Outcome.PROTOCOL
    assert result.verdict is expected


FORGED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(st.sampled_from(["values", "raised", "detail", "cage"]), part, max_size=3)
        | st.tuples(st.sampled_from("cifzsbltSFd"), part).map(list)
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(answer=FORGED, status=st.sampled_from([0, 0, 0, 1, 3]))
def test_any_forged_answer_is_a_defined_end(pool: Pool, answer: object, status: int) -> None:
    names = "import json, os\ninf, nan = float('inf'), float('nan')"
    write = f"os.write(1, json.dumps({answer!r}).encode())\nos._exit({status})"
    result = pool.evaluate(f"{names}\n{write}", ["1"])
    assert result.verdict in (Outcome.OK, Outcome.EXCEPTION, Outcome.MEMORY, Outcome.PROTOCOL)
    assert len(result.values) == (result.verdict is Outcome.OK)


def test_a_zygote_that_was_killed_is_replaced() -> None:
    with Pool(1) as pool:
        before = set(zygotes())
        assert pool.evaluate("", ["1"]).values == (1,)
        (zygote,) = set(zygotes()) - before
        os.kill(zygote, signal.SIGKILL)
        assert pool.evaluate("", ["2"]).values == (2,)
        assert zygote not in zygotes()


def test_a_program_ends_with_its_zygote_and_is_run_again() -> None:
    with Pool(1) as pool, ThreadPoolExecutor(1) as thread:
        before = set(zygotes())
        running = thread.submit(pool.evaluate, SLEEP, [], limits=Limits(wall=1.0))
        assert eventually(lambda: set(zygotes()) - before and children(*(set(zygotes()) - before)))
        (zygote,) = set(zygotes()) - before
        (program,) = children(zygote)
        os.kill(zygote, signal.SIGKILL)
        assert eventually(lambda: not alive(program))
        assert running.result(60).verdict is Outcome.TIMEOUT


def test_kill_9_of_the_parent_leaves_no_process() -> None:
    script = (
        f"from verify.sandbox import Limits, Pool\nPool(1).evaluate({SLEEP!r}, [], limits=Limits(wall=100))"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    try:
        assert eventually(lambda: children(parent.pid) and children(children(parent.pid)[0]))
        (zygote,) = children(parent.pid)
        (program,) = children(zygote)
    finally:
        parent.kill()
        parent.wait()
    assert eventually(lambda: not alive(zygote) and not alive(program))


def test_an_interrupt_does_not_give_one_programs_answer_to_the_next() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with Pool(1) as pool:
            pool.evaluate("", ["0"])
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                pool.evaluate("import time\ntime.sleep(0.5)", ["'interrupted'"])
            assert pool.evaluate("", ["1"]).values == (1,)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_what_a_program_leaves_behind_ends_with_it() -> None:
    """The call filter refuses the fork; this is what holds where it is taken away."""
    with Pool(1, layers=Layers(seccomp=False, landlock=False)) as pool:
        leave = "import os, time\npid = os.fork()\nif pid == 0:\n os.closerange(3, 99)\n time.sleep(100)"
        result = pool.evaluate(leave, ["pid"])
        (left,) = result.values
        assert isinstance(left, int)
        assert eventually(lambda: not alive(left))
        assert pool.evaluate("", ["1"]).values == (1,)


def test_close_ends_the_processes_and_takes_no_more() -> None:
    before = set(zygotes())
    pool = Pool(2)
    pool.evaluate_many(numbered(8))
    started = set(zygotes()) - before
    assert started
    pool.close()
    pool.close()
    assert not [pid for pid in started if alive(pid)]
    with pytest.raises(SandboxUnavailable, match="closed"):
        pool.evaluate("", ["1"])
    assert set(zygotes()) == before


def test_a_pool_that_is_forgotten_ends_its_processes() -> None:
    before = set(zygotes())
    Pool(1).evaluate("", ["1"])
    assert eventually(lambda: set(zygotes()) == before)


def test_close_waits_for_what_runs_and_starts_nothing_for_those_who_wait() -> None:
    before = set(zygotes())
    pool, ends = Pool(1), []

    def ask(source: str) -> None:
        try:
            ends.append(str(pool.evaluate(source, ["1"]).verdict))
        except SandboxUnavailable:
            ends.append("closed")

    threads = [threading.Thread(target=ask, args=("import time\ntime.sleep(0.3)",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert eventually(lambda: set(zygotes()) - before)
    pool.close()
    for thread in threads:
        thread.join()
    assert set(ends) <= {"ok", "closed"}
    assert "ok" in ends
    assert set(zygotes()) == before


def test_runs_of_every_kind_leave_descriptors_and_processes_as_they_were(pool: Pool) -> None:
    kinds = [
        ("", ["1"], Limits()),
        ("1 / 0", [], Limits()),
        ("import os; os._exit(0)", [], Limits()),
        ("x = 'a' * 10_000_000", ["x"], Limits()),
        ("import ctypes; ctypes.string_at(0)", [], Limits()),
        ("x = bytearray(1 << 40)", [], Limits()),
        (SLEEP, [], Limits(wall=0.03)),
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(100,)).start()", ["1"], Limits()),
    ]
    programs = [Program(source, calls, "", limits) for source, calls, limits in kinds]
    pool.evaluate_many(programs)
    descriptors, processes = len(os.listdir("/proc/self/fd")), len(zygotes())
    for _ in range(12):
        pool.evaluate_many(programs)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert len(zygotes()) == processes
    assert [children(zygote) for zygote in zygotes()] == [[]] * processes
