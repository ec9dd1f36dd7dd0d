"""Untrusted programs on a few workers, and what their ends mean."""

from __future__ import annotations

import json
import queue
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from verify.errors import SandboxUnavailable
from verify.sandbox.caged.plain import NotPlain, decode
from verify.sandbox.result import DEFAULT, Level, Limits, Outcome, Program, Result
from verify.sandbox.worker import Ended, Worker

_PROGRAM_BYTES = 16 << 20  # read and parsed before limits are set
_DETAIL = 500  # characters
_CACHED = 4_096  # results; perturbed models repeat their programs often
_CACHED_BYTES = 4_096  # of an answer that is worth keeping
_CPU_SLACK = 0.2  # seconds by which the timer may be late; what ends later has caught the timer's signal
_CPU_SIGNALS = (-signal.SIGPROF, -signal.SIGXCPU)


@dataclass(frozen=True, slots=True)
class Layers:
    """What holds a program beside a process of its own. Tests take single layers away; nothing else does."""

    user: bool = True
    limits: bool = True
    landlock: bool = True
    seccomp: bool = True

    @property
    def names(self) -> list[str]:
        return [field.name for field in fields(self) if getattr(self, field.name)]

    @property
    def level(self) -> Level:
        if not (self.user and self.limits and self.seccomp):
            return Level.NONE
        return Level.STRICT if self.landlock else Level.REDUCED


ALL = Layers()


class Pool:
    """Any thread may call any method. Workers start when first needed and are replaced when they die."""

    def __init__(self, workers: int = 2, *, layers: Layers = ALL, cached: bool = True) -> None:
        """Args:
        workers: programs that run at a time.
        cached: whether a program that ran before is answered from memory.
        """
        self._layers = layers
        self._idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(workers):
            self._idle.put(None)
        self._workers = workers
        self._known: OrderedDict[bytes, Result] | None = OrderedDict() if cached else None
        self._lock = threading.Lock()
        self._closed = False

    def evaluate(
        self,
        source: str,
        calls: Sequence[str],
        *,
        limits: Limits = DEFAULT,
        setup: str = "",
    ) -> Result:
        """Run `source`, then `setup`, then evaluate the calls, all in one new process.

        Raises:
            SandboxUnavailable: the cage cannot be built.
        """
        return self.run(Program(source, calls, setup, limits))

    def evaluate_many(self, programs: Sequence[Program]) -> list[Result]:
        """As `evaluate`, in the order given, as many at a time as there are workers."""
        with ThreadPoolExecutor(self._workers, thread_name_prefix="sandbox") as threads:
            return list(threads.map(self.run, programs))

    def run(self, program: Program) -> Result:
        key = program.digest()
        known = self._recalled(key)
        if known is not None:
            return known
        begun = time.monotonic()
        body = program.body()
        if len(body) > _PROGRAM_BYTES:
            return self._result(Outcome.EXCEPTION, f"a program of more than {_PROGRAM_BYTES >> 20} MiB")
        ended = self._ended(body, program.limits)
        result = replace(self._judged(ended, program), seconds=time.monotonic() - begun)
        if _lasting(ended, result):
            self._keep(key, result)
        return result

    def close(self) -> None:
        """End every worker; what runs now is finished first."""
        self._closed = True
        for _ in range(self._workers):
            worker = self._idle.get()
            if worker is not None:
                worker.close()
        for _ in range(self._workers):
            self._idle.put(None)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ended(self, body: bytes, limits: Limits) -> Ended:
        for _ in range(2):  # a worker that something else ended is replaced once
            with self._worker() as worker:
                ended = worker.run(body, limits)
            if ended is not None:
                return ended
        raise SandboxUnavailable(
            "the sandbox's process ended twice without a word", hint="see its memory limit"
        )

    @contextmanager
    def _worker(self) -> Iterator[Worker]:
        worker = self._idle.get()
        try:
            if self._closed:
                raise SandboxUnavailable("this sandbox is closed")
            if worker is None or not worker.alive:
                if worker is not None:
                    worker.close()
                worker = None
                worker = Worker(self._layers.names)
            yield worker
        finally:
            self._idle.put(worker if worker is not None and worker.alive else None)

    def _judged(self, ended: Ended, program: Program) -> Result:
        limits = program.limits
        if ended.unshut:
            raise SandboxUnavailable(f"the sandbox does not close: {ended.unshut}")
        if ended.stopped is Outcome.FLOOD:
            return self._result(Outcome.FLOOD, f"more than {limits.output} KiB of output")
        if ended.stopped is Outcome.TIMEOUT:
            return self._result(Outcome.TIMEOUT, f"stopped after {limits.wall:g} s by the clock")
        if ended.code in _CPU_SIGNALS or ended.cpu > limits.cpu + _CPU_SLACK:
            return self._result(Outcome.TIMEOUT, f"took more than {limits.cpu:g} s of CPU time")
        if ended.code < 0:
            return self._result(Outcome.KILLED, f"ended by {_name(-ended.code)}")
        if ended.code > 0:
            return self._silent(ended.code)
        return self._answered(ended.data, len(program.calls))

    def _answered(self, data: bytes, calls: int) -> Result:
        try:
            answer = json.loads(data.decode())  # json itself would guess an encoding and skip a mark
            if "values" in answer:
                values = tuple(map(decode, answer["values"]))
                if len(values) != calls:
                    raise ValueError
                return self._result(Outcome.OK, "", values)
            kind, detail = str(answer["raised"]), str(answer["detail"])
        except (ValueError, KeyError, TypeError, RecursionError, NotPlain):
            return self._silent(0)
        return self._result(
            Outcome.MEMORY if kind == "MemoryError" else Outcome.EXCEPTION, _printable(detail)
        )

    def _silent(self, status: int) -> Result:
        return self._result(Outcome.PROTOCOL, f"ended with status {status} and no answer")

    def _result(self, verdict: Outcome, detail: str, values: tuple[object, ...] = ()) -> Result:
        return Result(verdict, values, detail, level=self._layers.level)

    def _recalled(self, key: bytes) -> Result | None:
        if self._known is None:
            return None
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def _keep(self, key: bytes, result: Result) -> None:
        if self._known is None:
            return
        with self._lock:
            self._known[key] = result
            while len(self._known) > _CACHED:
                self._known.popitem(last=False)


def _lasting(ended: Ended, result: Result) -> bool:
    """Whether the program would end so again: the clock and signals can be the machine's doing."""
    if ended.stopped is Outcome.TIMEOUT or result.verdict is Outcome.KILLED:
        return False
    return not result.values or len(ended.data) <= _CACHED_BYTES


def _printable(text: str) -> str:
    """A program's own words on one line, fit for any file: no surrogates, NULs or control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:_DETAIL])


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
