"""``corp jobs``: a server's jobs from the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from server.cli.output import INTERRUPTED, Command, note, print_json
from server.cli.specfile import portable, read_job, spec_options
from server.states import STATUSES

if TYPE_CHECKING:
    from server.client import Client

F = TypeVar("F", bound=Callable[..., Any])

JOB_FAILED = 1


def server_option(function: F) -> F:
    return click.option(
        "--url",
        envvar="CORP_URL",
        default="http://127.0.0.1:8000",
        show_default=True,
        help="The server; also from CORP_URL.",
    )(function)


@click.group("jobs")
def jobs() -> None:
    """Create and watch jobs on a server.

    Example: corp jobs create examples/larger.yaml --watch
    """


@jobs.command("create", cls=Command)
@spec_options
@server_option
@click.option("--watch", is_flag=True, help="Then follow it until its end, as `corp jobs watch` does.")
def create(spec: Path, overrides: Sequence[str], url: str, watch: bool, as_json: bool) -> None:
    """Check the job in SPEC, a YAML file, on the server and queue it there. Prints its id.

    A relative data path is read here and sent along; an absolute one is read on the server's machine.

    Example: corp jobs create examples/larger.yaml --set population.size=48
    """
    job, folder = read_job(spec, overrides)
    with _client(url) as client:
        made = client.create_job(portable(job, folder))
        if as_json:
            print_json(made)
        else:
            click.echo(made["id"])
        if watch:
            _watch(client, made["id"], as_json)


@jobs.command("list", cls=Command)
@server_option
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100), help="Most jobs.")
@click.option("--after", metavar="ID", help="Continue behind this job.")
@click.option("--status", type=click.Choice(STATUSES), help="Only jobs in this state.")
def list_jobs(url: str, limit: int, after: str | None, status: str | None, as_json: bool) -> None:
    """List jobs, newest first.

    Example: corp jobs list --status running
    """
    with _client(url) as client:
        page = client.jobs(limit=limit, after=after, status=status)
    if as_json:
        print_json(page)
        return
    if not page["data"]:
        note("no jobs")
    for job in page["data"]:
        click.echo(_row(job))
    if page["has_more"]:
        note(f"there are more: --after {page['data'][-1]['id']}")


@jobs.command("get", cls=Command)
@click.argument("job_id")
@server_option
def get(job_id: str, url: str, as_json: bool) -> None:
    """Show a job: its state, and its verdict when it has one.

    Example: corp jobs get job_01k…
    """
    with _client(url) as client:
        job = client.job(job_id)
    if as_json:
        print_json(job)
    else:
        click.echo("\n".join(_details(job)))


@jobs.command("watch", cls=Command)
@click.argument("job_id")
@server_option
def watch(job_id: str, url: str, as_json: bool) -> None:
    """Follow a job until its end or a pause; with --json one event per line.

    Lost connections are taken up again. Ctrl-C stops watching, not the job. The exit code is 0 if the job
    succeeded, with or without an improvement, and 1 if it failed, was cancelled or is paused.

    Example: corp jobs watch job_01k…
    """
    with _client(url) as client:
        _watch(client, job_id, as_json)


@jobs.command("cancel", cls=Command)
@click.argument("job_id")
@server_option
def cancel(job_id: str, url: str, as_json: bool) -> None:
    """Stop a job; a running one stops after its current block of prompts.

    Example: corp jobs cancel job_01k…
    """
    with _client(url) as client:
        job = client.cancel_job(job_id)
    _tell(job, as_json)


@jobs.command("resume", cls=Command)
@click.argument("job_id")
@server_option
def resume(job_id: str, url: str, as_json: bool) -> None:
    """Go on with a job that paused, once its verifier has been put right.

    Example: corp jobs resume job_01k…
    """
    with _client(url) as client:
        job = client.resume_job(job_id)
    _tell(job, as_json)


def _tell(job: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(job)
    else:
        click.echo(f"{job['id']} is {job['status']}")


def _client(url: str) -> Client:
    from server.client import Client

    return Client(url)


def _watch(client: Client, job_id: str, as_json: bool) -> None:
    from server.cli.progress import ProgressPrinter

    try:
        with closing(ProgressPrinter()) as printer:
            for event in client.follow(job_id):
                if as_json:
                    print_json(
                        dict(event.data) if event.seq is not None else {"type": "done", "data": event.data}
                    )
                elif event.seq is not None:
                    printer(event.type, event.data["data"])
    except KeyboardInterrupt:
        note(f"{job_id} goes on; `corp jobs watch {job_id}` follows it again")
        raise click.exceptions.Exit(INTERRUPTED) from None
    job = client.job(job_id)
    if not as_json:
        click.echo("\n".join(_details(job)))
    if job["status"] != "succeeded":
        raise click.exceptions.Exit(JOB_FAILED)


def _row(job: Mapping[str, Any]) -> str:
    state = job["outcome"] or job["status"]
    return f"{job['id']}  {job['created_at'][:19]}Z  {state:<15}  {job['phase'] or '-':<12}  {job['name']}"


def _details(job: Mapping[str, Any]) -> list[str]:
    from server.cli.progress import progress_line
    from server.cli.verdict import verdict_lines

    lines = [f"{job['id']}  {job['name']}  {job['status']}"]
    if job["status"] == "running" and job["progress"]:
        lines.append(progress_line(job["progress"]))
    if job["error"]:
        error = job["error"]
        lines += [f"error [{error['code']}]: {error['detail']}", f"  {error['hint']}"]
    if job["report"]:
        lines += verdict_lines(job["report"], None)
    if job["checkpoint"]:
        lines.append(
            f"\n  checkpoint    {job['checkpoint']['id']}\n                {job['checkpoint']['path']}"
        )
    return lines
