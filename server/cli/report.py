"""``corp report``: what a run found, from its directory alone."""

from __future__ import annotations

from pathlib import Path

import click

from server.cli.output import Command, print_json

HELP = """Write the reports of the run in directory RUN anew and print the verdict.

    RUN/report.json holds every number with its split and n; RUN/report.html is the same for people, one file
    that needs no network. Neither the model nor a server is needed. Of a run that has not finished, what is
    there is reported, and what is still to come; the exit code is 0 all the same.

    Example: corp report runs/larger --html larger.html
    """


@click.command("report", cls=Command, help=HELP, short_help="Report what a run found.")
@click.argument("run", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where the page goes. Default: RUN/report.html.",
)
def report(run: Path, html: Path | None, as_json: bool) -> None:
    from corp.report import build_report
    from server.cli.verdict import verdict_lines

    found = build_report(run, html)
    page = html or run / "report.html"
    if as_json:
        print_json({**found, "directory": str(run.resolve()), "html": str(page.resolve())})
        return
    click.echo("\n".join(verdict_lines(found, None)))
    click.echo(f"\n  report        {page}")
