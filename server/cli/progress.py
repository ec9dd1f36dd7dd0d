"""A run's events as people watch them: one line that moves on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

PLAIN_SECONDS = 5.0


class ProgressPrinter:
    """Prints events; usable as a run's ``emit``.

    Args:
        stream: where to; stderr by default, so that stdout stays the result's.
        clock: seconds; plain progress lines come at most every five.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._clock = clock
        self._printed = float("-inf")
        self._open = False

    def __call__(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "phase.progress":
            self._progress(progress_line(data))
            return
        line = event_line(kind, data)
        if line is not None:
            self._line(line)

    def close(self) -> None:
        """End a moving line, so that what follows starts on its own."""
        if self._open:
            self._stream.write("\n")
            self._open = False
        self._stream.flush()

    def _progress(self, line: str) -> None:
        if self._live:
            self._stream.write(f"\r\x1b[K{line}")
            self._open = True
            self._stream.flush()
        elif self._clock() - self._printed >= PLAIN_SECONDS:
            self._printed = self._clock()
            self._line(line)

    def _line(self, line: str) -> None:
        self.close()
        self._stream.write(f"{line}\n")
        self._stream.flush()


def progress_line(data: Mapping[str, Any]) -> str:
    """``search      1536 / 4608   33 %   210 prompts/s   15 s left``."""
    done, total = data.get("done", 0), data.get("total", 0)
    parts = [f"{data.get('phase', ''):<12}{done:>7} / {total}"]
    if total:
        parts.append(f"{100 * done / total:.0f} %")
    if data.get("rate"):
        parts.append(f"{data['rate']:.3g} prompts/s")
    if data.get("eta_seconds") is not None:
        parts.append(f"{duration(data['eta_seconds'])} left")
    return "   ".join(parts)


def event_line(kind: str, data: Mapping[str, Any]) -> str | None:
    """An event as a line, None for those that say nothing to a person."""
    phase = f"{data.get('phase', ''):<12}"
    if kind == "phase.started":
        return f"{phase}started"
    if kind == "phase.finished":
        return f"{phase}finished in {duration(data.get('seconds', 0))}"
    if kind == "log":
        return str(data.get("message", ""))
    if kind == "scoring.paused":
        share = f"{data.get('invalid')} of {data.get('verdicts')} verdicts"
        return f"{phase}paused: {share} on {data.get('split')} of {data.get('task')} are not valid"
    if kind == "gate.decided":
        return f"{'gate':<12}{'accepted' if data.get('accepted') else 'abstained'}"
    if kind == "recenter.round":
        what = "moved" if data.get("accepted") else "stayed"
        return f"{'recenter':<12}round {data.get('round')} {what}: {data.get('reason')}"
    if kind == "checkpoint.ready":
        return f"{'export':<12}{data.get('path', '')}"
    if kind.startswith("job."):
        details = ", ".join(f"{key} {value}" for key, value in data.items() if value not in (None, ""))
        return f"{kind.removeprefix('job.'):<12}{details}".rstrip()
    return None


def duration(seconds: float) -> str:
    """``8.4 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
