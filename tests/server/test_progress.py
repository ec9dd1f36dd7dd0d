from __future__ import annotations

import io
import re

import pytest

from server.cli.progress import ProgressPrinter, duration, event_line, progress_line
from server.cli.verdict import verdict_lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress(done: int) -> dict[str, object]:
    return {"phase": "search", "done": done, "total": 4608, "rate": 210.44, "eta_seconds": 15.2}


def test_a_line_has_share_rate_and_time_left() -> None:
    words = re.split(r" {2,}", progress_line(progress(1536)))
    assert words == ["search", "1536 / 4608", "33 %", "210 prompts/s", "15 s left"]


def test_before_the_first_block_there_is_no_rate() -> None:
    line = progress_line({"phase": "gate", "done": 0, "total": 8, "rate": 0.0, "eta_seconds": None})
    assert "prompts/s" not in line
    assert "left" not in line


def test_a_terminal_gets_one_moving_line_that_ends_before_the_next() -> None:
    terminal = Terminal()
    printer = ProgressPrinter(terminal)
    printer("phase.progress", progress(1))
    printer("phase.progress", progress(2))
    printer("phase.finished", {"phase": "search", "seconds": 3})
    assert terminal.getvalue().count("\n") == 2
    assert terminal.getvalue().count("\r\x1b[K") == 2


def test_a_file_gets_a_plain_line_every_five_seconds() -> None:
    now = 0.0
    log = io.StringIO()
    printer = ProgressPrinter(log, clock=lambda: now)
    for done in range(100):
        now = done / 10
        printer("phase.progress", progress(done))
    assert log.getvalue().count("\n") == 2
    assert "\r" not in log.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.41, "0.41 s"), (8.44, "8.4 s"), (59.2, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_an_abstention_without_a_gate_is_told_with_its_reason() -> None:
    report = {"outcome": "no_improvement", "reason": "all rewards are equal", "gate": None, "test": None}
    assert verdict_lines(report, None) == ["", "NO IMPROVEMENT", "  all rewards are equal"]


def test_a_round_of_recentering_is_told_with_its_reason() -> None:
    moved = {"round": 2, "accepted": True, "reason": "gain on select +0.02 +- 0.01"}
    assert event_line("recenter.round", moved) == "recenter    round 2 moved: gain on select +0.02 +- 0.01"
    stayed = {"round": 3, "accepted": False, "reason": "no gain"}
    assert event_line("recenter.round", stayed) == "recenter    round 3 stayed: no gain"
