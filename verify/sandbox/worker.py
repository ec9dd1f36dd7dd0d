"""One zygote and the conversation with it: a program in, its answer and how it ended out."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.errors import SandboxUnavailable
from verify.sandbox.result import Limits, Outcome

_HERE = Path(__file__).parent
_START_SECONDS = 60.0  # 0.2 s are usual; a machine that swaps takes longer
_KILL_SECONDS = 30.0  # for the zygote to say that a killed process is gone
_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended.

    Attributes:
        data: what it wrote, at most one piece more than allowed.
        stopped: why we stopped it, None where it ended by itself.
        code: exit status, or minus the signal.
        cpu: seconds.
        unshut: why its cage did not close, so that it ran nothing; empty where it did.
    """

    data: bytes
    stopped: Outcome | None
    code: int
    cpu: float
    unshut: str = ""


class Worker:
    """Started at once, for one thread at a time; ends with `close()`, its last reference, or this process."""

    def __init__(self, layers: Sequence[str]) -> None:
        """Raises:
        SandboxUnavailable: the zygote does not start.
        """
        theirs, ours = _pipes()
        self._requests, self._results, self._control, self._status = ours
        command = [sys.executable, "-s", "-P", "-S", "-B", str(_HERE / "caged" / "zygote.py"), str(_HERE)]
        self._process = subprocess.Popen(
            [*command, *map(str, theirs), *layers],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # a fixed seed of hashes: a program that prints a set prints the same one every time
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", **_libraries()},
            cwd="/",
            pass_fds=theirs,
            process_group=0,
        )
        for descriptor in theirs:
            os.close(descriptor)
        self._finalizer = weakref.finalize(self, _stop, self._process, ours)
        hello = self._line(time.monotonic() + _START_SECONDS) or {"failed": "it ended, or said nothing"}
        if "failed" in hello:
            self.close()
            raise SandboxUnavailable(
                f"the sandbox's process does not start: {hello['failed']}",
                hint=f"it is started as {' '.join(command[:6])}",
            )

    @property
    def alive(self) -> bool:
        return self._finalizer.alive and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._finalizer()

    def run(self, body: bytes, limits: Limits) -> Ended | None:
        """The program's end; None where nothing is known of it, and this worker is gone."""
        try:
            return self._run(len(body).to_bytes(4, sys.byteorder) + body, limits)
        except OSError:
            self.close()
            return None
        except BaseException:  # Ctrl-C: the answer still to come must not be taken for the next one's
            self.close()
            raise

    def _run(self, request: bytes, limits: Limits) -> Ended | None:
        deadline = time.monotonic() + limits.wall
        os.write(self._control, b"G")
        rest, data, stopped = memoryview(request), bytearray(), None
        while True:
            events = self._wait(bool(rest), deadline)
            if rest and self._requests in events:
                rest = rest[_written(self._requests, rest) :]
            if self._results in events:
                data += os.read(self._results, _PIECE)
            if self._status in events:
                break
            late, much = time.monotonic() >= deadline, len(data) > limits.output << 10
            if stopped is None and (late or much):
                stopped = Outcome.FLOOD if much else Outcome.TIMEOUT
                os.write(self._control, b"K")
                deadline = time.monotonic() + _KILL_SECONDS
            elif stopped is not None and late:
                break
            if much:
                del data[(limits.output << 10) + 1 :]
        ended = self._line(time.monotonic() + _KILL_SECONDS)
        if ended is None or not ended["caged"]:  # it may not have read its program: the next one would get it
            self.close()
        if ended is None or not (ended["caged"] or ended["why"] or stopped):
            return None
        data += self._drained() if ended["caged"] else b""
        if stopped is None and len(data) > limits.output << 10:
            stopped = Outcome.FLOOD
        return Ended(bytes(data), stopped, int(ended["code"]), float(ended["cpu"]), str(ended["why"]))

    def _wait(self, writing: bool, deadline: float) -> list[int]:
        poll = select.poll()
        poll.register(self._results, select.POLLIN)
        poll.register(self._status, select.POLLIN)
        if writing:
            poll.register(self._requests, select.POLLOUT)
        wait = max(0.0, deadline - time.monotonic()) * 1e3
        return [descriptor for descriptor, _ in poll.poll(wait)]

    def _drained(self) -> bytes:
        """What the process had written before it ended: what a pipe holds, 64 KiB, and no more."""
        data = bytearray()
        with suppress(BlockingIOError):
            while piece := os.read(self._results, _PIECE):
                data += piece
        return bytes(data)

    def _line(self, deadline: float) -> dict[str, Any] | None:
        line = bytearray()
        poll = select.poll()
        poll.register(self._status, select.POLLIN)
        while not line.endswith(b"\n"):
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1e3):
                return None
            piece = os.read(self._status, 4096)
            if not piece:
                return None
            line += piece
        read: dict[str, Any] = json.loads(line)
        return read


def _pipes() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Requests, results, control, status: the zygote's ends, then ours."""
    requests, results, control, status = (os.pipe() for _ in range(4))
    ours = requests[1], results[0], control[1], status[0]
    for descriptor in ours[:2]:  # a process that does not read or write must not hold us
        os.set_blocking(descriptor, False)
    return (requests[0], results[1], control[0], status[1]), ours


def _written(descriptor: int, data: memoryview) -> int:
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        return 0


def _libraries() -> dict[str, str]:
    """Where the interpreter finds its own shared library, if it needs telling."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


def _stop(process: subprocess.Popen[bytes], ours: Sequence[int]) -> None:
    """The end of its control pipe makes the zygote end the program that runs; then it is ended itself."""
    for descriptor in ours:
        with suppress(OSError):
            os.close(descriptor)
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
