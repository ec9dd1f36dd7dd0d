"""Both reports, from the files of a run directory alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corp.errors import OutputUnusable, RunChanged, RunMissing
from corp.report.compose import compose
from corp.report.page import page
from corp.results import found_result
from population.publish import publish_bytes, publish_json

JSON, HTML, SAMPLES = "report.json", "report.html", "samples"


def build_report(target: Path, html: Path | None = None) -> dict[str, Any]:
    """Write RUN/report.json and RUN/report.html, and return the former.

    Neither the model nor the scores are needed. Of a run that has not finished, what is there is reported,
    and that it is not all.

    Args:
        target: the run directory.
        html: where the page goes instead.

    Raises:
        RunMissing: the directory holds no run.
        RunChanged: a phase's file is damaged, or not what a phase writes.
        OutputUnusable: a report cannot be written where it belongs.
        DiskFull: no room.
    """
    if not (target / "spec.json").is_file():
        raise RunMissing(
            f"{target} holds no run: there is no spec.json in it",
            hint="name the directory that `corp run` wrote, runs/NAME by default",
        )
    report, written = _made(target)
    try:
        publish_json(target / JSON, report)
        publish_bytes(html or target / HTML, written)
    except OSError as error:
        raise OutputUnusable(
            f"{error.filename or target} cannot be written: {error.strerror}",
            hint="name a file in a directory of yours with --html",
        ) from None
    return report


def _made(target: Path) -> tuple[dict[str, Any], bytes]:
    """Report and page. A directory may come from anyone: what does not fit together is not our fault."""
    from jinja2 import TemplateError

    try:
        report = compose(target)
        samples = found_result(target, SAMPLES) or {"pairs": []}
        return report, page(report, samples["pairs"]).encode()
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, TemplateError) as error:
        raise RunChanged(
            f"the results in {target} are none that a run leaves ({type(error).__name__}: {error})"[:400],
            hint="resume the run with the release that started it",
        ) from error
