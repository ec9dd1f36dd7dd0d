"""``corp run``: a job in this process, no server needed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from server.cli.output import INTERRUPTED, Command, note, print_json
from server.cli.specfile import read_job, spec_options

if TYPE_CHECKING:
    from corp.spec import JobSpec

HELP = """Run the job in SPEC, a YAML file; see docs/spec.md for its fields.

    Prints progress to stderr and the verdict to stdout. A run that was interrupted, or killed, continues
    where it stopped when the same command is given again. The exit code is 0 for a finished job, whether it
    found an improvement or not.

    Example: corp run examples/larger.yaml --set model=/models/SmolLM2-135M-Instruct
    """


@click.command("run", cls=Command, help=HELP, short_help="Run a job here, no server needed.")
@spec_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Run directory: new, empty, or a run of the same spec, which is resumed. Default: runs/NAME.",
)
@click.option("--check", is_flag=True, help="Only check model, task, splits and verifier; takes seconds.")
def run(spec: Path, overrides: Sequence[str], out: Path | None, check: bool, as_json: bool) -> None:
    job, folder = read_job(spec, overrides)
    if check:
        _check(job, folder, as_json)
        return
    target = (out or Path("runs") / job.name).resolve()
    report = _execute(job, target, folder)
    if as_json:
        print_json({**report, "directory": str(target)})
        return
    from server.cli.verdict import verdict_lines

    click.echo("\n".join(verdict_lines(report, target)))


def _check(job: JobSpec, folder: Path, as_json: bool) -> None:
    from corp.preflight import assemble

    prepared = assemble(job, folder)
    prepared.close()
    facts = prepared.facts()
    if as_json:
        print_json({"ok": True, **facts})
        return
    click.echo("the job can run")
    for name, value in facts.items():
        click.echo(f"  {name.replace('_', ' '):<16}{_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, dict):
        names = {name: name if str(name).isidentifier() else repr(name) for name in value}
        return ", ".join(f"{names[name]} {_shown(inner)}" for name, inner in value.items() if inner != {})
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _execute(job: JobSpec, target: Path, folder: Path) -> dict[str, Any]:
    from corp.errors import Cancelled
    from corp.run import execute
    from server.cli.progress import ProgressPrinter

    stopped = threading.Event()
    with closing(ProgressPrinter()) as printer, _interruptible(stopped):
        try:
            return execute(job, target, folder=folder, emit=printer, cancelled=stopped.is_set)
        except (Cancelled, KeyboardInterrupt):
            printer.close()
            note(f"interrupted; everything scored is kept in {target}, the same command continues there")
            raise click.exceptions.Exit(INTERRUPTED) from None


@contextmanager
def _interruptible(stopped: threading.Event) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM stops the run at the next block of prompts, the second at once."""

    def handle(number: int, _frame: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()
        note("\nstopping after this block of prompts; press Ctrl-C again to stop at once")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
