"""``corp verify-task``: try to fool a task's verifier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.cli.output import USER_ERROR, Command, print_json

if TYPE_CHECKING:
    from verify.hackability import Finding, Report
    from verify.task import TaskSpec

_COLUMNS = "  {:<10}  {:<6}  {:>8}  {:>6}  {:>6}  {}"


@click.command("verify-task", cls=Command, short_help="Try to fool a task's verifier.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--base",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Share of prompts that the base model passes, 0 to 1; a constant answer must not do as well.",
)
@click.pass_context
def verify_task(context: click.Context, file: Path, base: float | None, as_json: bool) -> None:
    """Try to fool the verifier of a task file, or of a job file's task, as every job does before it starts.

    Right answers must pass; blank and junk texts, constants, echoes, lists of all answers and programs that
    dodge their tests must not. Exit code 2 if a probe fails.

    Example: corp verify-task examples/tasks/countdown.yaml
    """
    from contextlib import closing

    from verify.hackability.base import with_base
    from verify.hackability.examination import examine
    from verify.task import load_task

    spec, folder = read(file)
    with closing(load_task(spec, folder)) as task:
        report = examine(task)
    if base is not None:
        report = with_base(report, base)
    if as_json:
        print_json(report.to_json())
    else:
        click.echo("\n".join(table(report)))
    if not report.passed:
        context.exit(USER_ERROR)


def read(file: Path) -> tuple[TaskSpec, Path]:
    """The task and the folder that its relative data paths start from.

    Raises:
        SpecInvalid, TaskInvalid: unreadable, malformed, or a wrong field.
    """
    from corp.taskfiles import read_yaml
    from server.cli.specfile import read_job
    from verify.task import parse_task

    data = read_yaml(file)
    if isinstance(data, dict) and "task" in data and "model" in data:
        job, folder = read_job(file, ())
        return job.task, folder
    return parse_task(data, str(file)), file.resolve().parent


def table(report: Report) -> Iterator[str]:
    """The report for people."""
    common = "" if report.majority is None else f", commonest answer {100 * report.majority:.3g} % of them"
    yield f"{report.task}: verifier {report.kind} on {report.rows} gate rows{common}"
    yield ""
    yield _COLUMNS.format("probe", "result", "score", "passed", "judged", "rule")
    for finding in report.findings:
        yield from _lines(finding)
    yield ""
    failed = [finding.probe for finding in report.failed]
    yield f"can be fooled or fails: {', '.join(failed)}" if failed else "no probe fails"


def _lines(finding: Finding) -> Iterator[str]:
    from verify.hackability.report import short

    score = "" if finding.score is None else f"{finding.score:.3g}"
    passed = "" if finding.success is None else f"{100 * finding.success:.3g} %"
    yield _COLUMNS.format(
        finding.probe, finding.status.value, score, passed, finding.judged or "", finding.rule
    )
    margin = " " * 12
    if finding.worst is not None:
        worst = finding.worst
        yield f"{margin}{worst.row}: {short(worst.input)} scored {worst.score:.3g}"
    if finding.note:
        yield f"{margin}{finding.note}"
