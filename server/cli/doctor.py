"""``corp doctor``: can this machine run jobs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from server.cli.output import USER_ERROR, Command, print_json


@click.command("doctor", cls=Command, short_help="Check whether this machine can run jobs.")
def doctor(as_json: bool) -> None:
    """Check Python, libraries, CPU, GPU, memory, disk, the noise's known answer and SQLite.

    Marks each ok, warn or fail; exit code 2 if anything fails. Takes a few seconds.

    Example: corp doctor --json
    """
    from server.checkup import examine

    findings = examine(Path.cwd())
    failed = any(finding.level == "fail" for finding in findings)
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            hint = f"  – {finding.hint}" if finding.level != "ok" and finding.hint else ""
            click.echo(f"{finding.level:<5} {finding.name:<13} {finding.detail}{hint}")
    if failed:
        raise click.exceptions.Exit(USER_ERROR)
