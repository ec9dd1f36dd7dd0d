"""``corp verify``: prove that an exported checkpoint is what its recipe and its gate say."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from server.cli.output import Command, print_json

HELP = """Check the exported checkpoint in DIRECTORY.

    Every file against the manifest, every tensor rebuilt from the base model and the recipe and compared bit
    by bit, and, with the gate's evidence, the gate's prompts scored again in a fresh process. Exit code 2 if
    anything differs.

    Example: corp verify runs/larger/checkpoint
    """


@click.command("verify", cls=Command, help=HELP, short_help="Prove that a checkpoint is what it says.")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--base",
    type=click.Path(path_type=Path, file_okay=False),
    help="The base model's directory. Default: the run's model, else the hub id in the recipe.",
)
@click.option(
    "--evidence",
    type=click.Path(path_type=Path, dir_okay=False),
    help="gate-evidence.json of the run. Default: beside the checkpoint, if it is there.",
)
def verify(directory: Path, base: Path | None, evidence: Path | None, as_json: bool) -> None:
    from corp.audit import audit
    from server.cli.progress import ProgressPrinter

    with closing(ProgressPrinter()) as printer:
        report = audit(directory, base=base, evidence=evidence, emit=printer).to_json()
    if as_json:
        print_json(report)
        return
    click.echo(f"{directory} is what its recipe says")
    for name, value in report.items():
        click.echo(f"  {name:<16}  {value}")
