"""A process of our own for work that must be stopped when it takes too long.

A match in Python's `re` can run for years and cannot be interrupted from a thread; algebra and users' own
verifiers are no better. The child is a fresh interpreter (no fork: nothing of this process, least of all a
GPU context, is in it) that answers one JSON line with one JSON line. It limits itself to CPU time, so that a
busy machine does not turn right answers into timeouts; the wall clock limit here is the second defence.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from verify.kinds.kind import Ungradable
from verify.verdict import Fault

_LOOP = Path(__file__).with_name("children") / "main.py"
_START_SECONDS = 60.0  # a fresh interpreter takes 0.02 to 0.3 s; a machine that swaps takes longer
_WALL_FACTOR = 10  # wall seconds allowed per CPU second: as many busy processes may share a core
_ORPHAN_SECONDS = 5.0  # by which the child's own wall limit lies behind ours: it is for when we are gone
_MAX_REPLY = 1 << 22  # bytes

Pipes = subprocess.Popen[bytes]


class Child:
    """Started at the first question, reused, replaced after a kill. Thread-safe: one question at a time.

    It ends with `close()`, with the last reference to this object, and at end of file on its input, so not
    even kill -9 of this process leaves it behind.
    """

    def __init__(self, script: Path, arguments: Sequence[str] = (), *, isolated: bool = True) -> None:
        """Args:
        script: defines `answer(question: dict) -> dict`, JSON both ways; loaded before the first question.
        arguments: what the script finds in `sys.argv[1:]`.
        isolated: the standard library alone and an empty environment; otherwise an interpreter like this one,
            with site-packages, `PYTHON*` variables and this process's environment.
        """
        self._command = _command(script, arguments, isolated)
        self._isolated = isolated
        self._lock = threading.Lock()
        self._process: Pipes | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None

    def ask(self, question: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """The child's reply.

        Args:
            timeout: CPU seconds that the answer may take.

        Raises:
            Ungradable: `timeout` when the limit was reached, `exception` when the script raised one,
                `process` when the child cannot be kept alive.
        """
        wall = _WALL_FACTOR * timeout
        line = json.dumps({**question, "cpu": timeout, "wall": wall + _ORPHAN_SECONDS}).encode() + b"\n"
        with self._lock:
            for _ in range(2):  # a child that something else ended is replaced once
                reply = self._exchange(line, timeout, wall)
                if reply:
                    return _read(reply)
        raise Ungradable(Fault.PROCESS, "the child process ended twice without an answer")

    def close(self) -> None:
        with self._lock:
            self._end()

    def _exchange(self, line: bytes, timeout: float, wall: float) -> bytes:
        process = self._running()
        if process is None:
            return b""
        deadline = time.monotonic() + wall
        try:
            reply = _converse(process, line, deadline)
        except BaseException:  # Ctrl-C: the reply still to come must not answer the next question
            self._end()
            raise
        if reply:
            return reply
        late = time.monotonic() >= deadline
        self._end()
        if late or process.returncode == -signal.SIGPROF:
            raise Ungradable(Fault.TIMEOUT, f"stopped after {timeout:g} s")
        return b""

    def _running(self) -> Pipes | None:
        if self._process is not None and _alive(self._process):
            return self._process
        self._end()
        process = _start(self._command, self._isolated)
        self._process = process
        self._finalizer = weakref.finalize(self, _stop, process)
        return process if _converse(process, b"", time.monotonic() + _START_SECONDS) else None

    def _end(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._process = self._finalizer = None


def import_paths() -> list[str]:
    """Where this process imports from, for an isolated script that is to import a package or two."""
    return [path for path in sys.path if Path(path).is_absolute() and Path(path).is_dir()]


def _command(script: Path, arguments: Sequence[str], isolated: bool) -> list[str]:
    # -I: no PYTHON* variables, no user directories, not even the script's own folder; -S: no site-packages
    # -P: the loop's folder is no place to import from
    flags = ("-I", "-S", "-B") if isolated else ("-P", "-B")
    return [sys.executable, *flags, str(_LOOP), str(script), *arguments]


def _start(command: Sequence[str], isolated: bool) -> Pipes:
    bare = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=bare if isolated else None,
        process_group=0,  # what a script starts is ended with it
    )
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)  # a child that does not read must not hold us
    return process


def _converse(process: Pipes, line: bytes, deadline: float) -> bytes:
    """The child's next line after sending it ours; empty when it has ended or the deadline passed."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if not _send(process.stdin.fileno(), line, deadline):
            return b""
    except BrokenPipeError:
        return b""
    reply = bytearray()
    while not reply.endswith(b"\n"):
        if len(reply) > _MAX_REPLY or not _ready(process.stdout.fileno(), select.POLLIN, deadline):
            return b""
        piece = os.read(process.stdout.fileno(), 65_536)
        if not piece:
            return b""
        reply += piece
    return bytes(reply)


def _send(pipe: int, line: bytes, deadline: float) -> bool:
    rest = memoryview(line)
    while rest:
        if not _ready(pipe, select.POLLOUT, deadline):
            return False
        rest = rest[os.write(pipe, rest) :]
    return True


def _ready(pipe: int, event: int, deadline: float) -> bool:
    poll = select.poll()
    poll.register(pipe, event)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1e3))


def _read(reply: bytes) -> dict[str, Any]:
    answer = cast("dict[str, Any]", json.loads(reply))
    if "raised" in answer:
        raise Ungradable(Fault.EXCEPTION, answer["raised"])
    return answer


def _alive(process: Pipes) -> bool:
    """Whether it still runs. One that has ended keeps its number, so `_stop` ends no stranger's group."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _stop(process: Pipes) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    process.wait()
