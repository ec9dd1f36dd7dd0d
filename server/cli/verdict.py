"""The end of a run for people: what the base does, what the result does, and whether to believe it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

HEADS = {"improved": "IMPROVED", "no_improvement": "NO IMPROVEMENT", "unfinished": "UNFINISHED"}


def verdict_lines(report: Mapping[str, Any], directory: Path | None) -> list[str]:
    """The verdict block.

    Args:
        report: RUN/report.json.
        directory: the run directory, when it is on this machine.
    """
    lines = ["", HEADS[report["outcome"]], f"  {report['reason']}"]
    gate = report.get("gate")
    if gate:
        lines += ["", f"  held-out gate, {gate['n']} prompts", *_pair(gate)]
    if report.get("test"):
        lines += [
            "",
            f"  test, {report['test']['n']} prompts that no decision has seen",
            *_pair(report["test"]),
        ]
    if directory is not None:
        lines += ["", *_places(report, directory)]
    return lines


def _pair(scores: Mapping[str, Any]) -> list[str]:
    low, high = scores["interval"]
    return [
        f"    base          {percent(scores['base'])}",
        f"    consolidated  {percent(scores['candidate'])}",
        f"    gain          {points(scores['gain'])}  [{points(low)}, {points(high)}]",
        f"    fixes {scores['fixes']}, regressions {scores['regressions']}, p = {scores['p_value']:.2g}",
    ]


def _places(report: Mapping[str, Any], directory: Path) -> list[str]:
    lines = []
    if report.get("checkpoint"):
        lines.append(f"  checkpoint    {directory / report['checkpoint']}")
    return [*lines, f"  report        {directory / 'report.html'}"]


def percent(value: float) -> str:
    return f"{100 * value:5.1f} %"


def points(value: float) -> str:
    """A difference of two percentages, in percentage points."""
    return f"{100 * value:+5.1f}"
