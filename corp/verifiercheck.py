"""RUN/hackability.json: what the probes found about the verifiers of a run, by task.

A task is examined once per run: a resume, and what reads the run later, trusts the file for the same digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from population.publish import publish_json
from verify.hackability import Report, Status
from verify.hackability.base import BASELINE, CONSTANT, with_base
from verify.task import Task

NAME = "hackability.json"


class Examined:
    """Reports by task digest; new tasks are examined when they are asked for."""

    def __init__(self, target: Path | None = None) -> None:
        """Args:
        target: run directory whose reports are still good; it need not exist.
        """
        self._known = {} if target is None else stored(target)

    def report(self, task: Task) -> Report:
        """Raises:
        VerifierRejected: the verifier can be fooled, fails, or cannot judge the task's rows.
        """
        if task.digest not in self._known:
            self._known[task.digest] = task.check()
        return self._known[task.digest]


def stored(target: Path) -> dict[str, Report]:
    """The reports of a run directory; none where the file is missing or not one of ours."""
    try:
        data = json.loads((target / NAME).read_text(encoding="utf-8"))
        reports = [Report.from_json(report) for report in data["tasks"]]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {report.digest: report for report in reports if report.passed}


def store(target: Path, reports: Iterable[Report]) -> None:
    """Publish the reports, unless they are there."""
    by_digest = {report.digest: report for report in reports}
    if not by_digest.keys() <= stored(target).keys():
        publish_json(target / NAME, {"tasks": [report.to_json() for report in by_digest.values()]})


def summary(report: Report) -> dict[str, object]:
    """What the preflight phase puts on record."""
    return {
        "passed": report.passed,
        "rows": report.rows,
        "majority": report.majority,
        "probes": {finding.probe: finding.status.value for finding in report.findings},
    }


def remarks(report: Report, baseline: Mapping[str, Any]) -> list[str]:
    """Lines of the log on what the base's score says about the verifier's findings."""
    return [
        f"warning: {finding.line}"
        for finding in with_base(report, float(baseline["success"])).findings
        if finding.probe in (CONSTANT, BASELINE) and finding.status is not Status.PASS
    ]
