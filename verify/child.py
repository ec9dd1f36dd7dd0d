"""A process of our own for work that must be stopped when it takes too long: matching a regular expression.

A match in Python's `re` can run for years and cannot be interrupted from a thread. The child is a fresh
interpreter (no fork: nothing of this process, least of all a GPU context, is in it) that answers one JSON
line with one JSON line. It limits itself to CPU time, so that a busy machine does not turn right answers into
timeouts; the wall clock limit here is the second line of defence.
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

_SCRIPT = Path(__file__).with_name("child_main.py")
_START_SECONDS = 60.0  # a fresh interpreter takes 0.02 to 0.3 s; a machine that swaps takes longer
_WALL_FACTOR = 10  # wall seconds allowed per CPU second: as many busy processes may share a core

Pipes = subprocess.Popen[bytes]


class Child:
    """Started at the first question, reused, replaced after a kill. Thread-safe: one question at a time.

    It ends with `close()`, with the last reference to this object, and at end of file on its input, so not
    even kill -9 of this process leaves it behind.
    """

    def __init__(self, paths: Sequence[str] = ()) -> None:
        """Args:
        paths: directories the child may import third-party packages from; none by default.
        """
        self._paths = tuple(paths)
        self._lock = threading.Lock()
        self._process: Pipes | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None

    def ask(self, question: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """The child's reply.

        Args:
            timeout: CPU seconds that the answer may take.

        Raises:
            Ungradable: `timeout` when the limit was reached, `process` when the child cannot be kept alive.
        """
        line = json.dumps({**question, "cpu": timeout}).encode() + b"\n"
        with self._lock:
            for _ in range(2):  # a child that something else ended is replaced once
                reply = self._exchange(line, timeout)
                if reply:
                    return cast("dict[str, Any]", json.loads(reply))
        raise Ungradable(Fault.PROCESS, "the child process ended twice without an answer")

    def close(self) -> None:
        with self._lock:
            self._end()

    def _exchange(self, line: bytes, timeout: float) -> bytes:
        process = self._running()
        if process is None:
            return b""
        deadline = time.monotonic() + _WALL_FACTOR * timeout
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
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        process = _start(self._paths)
        self._process = process
        self._finalizer = weakref.finalize(self, _stop, process)
        return process if _converse(process, b"", time.monotonic() + _START_SECONDS) else None

    def _end(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._process = self._finalizer = None


def _start(paths: Sequence[str]) -> Pipes:
    # -I: no PYTHON* variables, no user directories, not even the script's own folder; -S: no site-packages
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", str(_SCRIPT), *paths],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
    )


def _converse(process: Pipes, line: bytes, deadline: float) -> bytes:
    """The child's next line after sending it ours; empty when it has ended or the deadline passed."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.write(line)
        process.stdin.flush()
    poll, reply = select.poll(), b""
    poll.register(process.stdout, select.POLLIN)
    while not reply.endswith(b"\n"):
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1e3):
            return b""
        piece = os.read(process.stdout.fileno(), 65_536)
        if not piece:
            return b""
        reply += piece
    return reply


def _stop(process: Pipes) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    process.wait()
