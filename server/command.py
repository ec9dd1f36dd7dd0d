"""The ``corp`` command."""

from __future__ import annotations

import os
import sys
import traceback

import click

from server.cli.doctor import doctor
from server.cli.ensemble import ensemble
from server.cli.import_task import import_task
from server.cli.jobs import jobs
from server.cli.output import INTERNAL_ERROR, INTERRUPTED, Command, complain_usage, note, print_json
from server.cli.report import report
from server.cli.run import run
from server.cli.serve import serve
from server.cli.verify import verify
from server.cli.verify_task import verify_task
from server.version import installed


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version=installed(), prog_name="corp")
def corp() -> None:
    """Gradient-free post-training: search weight perturbations of a model, consolidate the good ones into one
    checkpoint, and prove the gain on held-out data.

    \b
    Example: corp run examples/larger.yaml
    Exit codes: 0 done, 1 internal error or failed job, 2 something to put right, 130 interrupted.
    """


@corp.command("version", cls=Command)
def version(as_json: bool) -> None:
    """Print the version.

    Example: corp version --json
    """
    if as_json:
        print_json({"version": installed(), "python": sys.version.split()[0]})
    else:
        click.echo(f"corp {installed()}")


for command in (run, report, serve, jobs, verify, ensemble, doctor, import_task, verify_task):
    corp.add_command(command)


def main() -> None:
    """Entry point: one clear line and an exit code for whatever goes wrong."""
    try:
        code = corp.main(standalone_mode=False)
    except click.ClickException as error:
        complain_usage(error, as_json="--json" in sys.argv)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        note("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as in `corp jobs list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = INTERNAL_ERROR
    except Exception as error:
        traceback.print_exc()
        note(f"error [internal]: {type(error).__name__}: {error} – a fault in CoRP, please report the above")
        code = INTERNAL_ERROR
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
