"""``corp serve``: the HTTP API and its worker."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import click

from server.cli.output import Command, note, print_json

HELP = """Serve the HTTP API and run its jobs, one at a time, in a worker process.

    Jobs, checkpoints and logs live below DATA. A worker that dies is replaced and its job continues. SIGTERM
    or Ctrl-C stops the running job at its next block of prompts and puts it back in the queue.

    Example: corp serve --port 8000 --data ./data
    """


@click.command("serve", cls=Command, help=HELP, short_help="Serve the HTTP API and run its jobs.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@click.option(
    "--data",
    default=Path("data"),
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory on a local disk for jobs and checkpoints.",
)
@click.option(
    "--allow-remote",
    is_flag=True,
    help="Allow a host that other machines reach: without authentication, they can all run jobs.",
)
@click.option(
    "--grace",
    default=25.0,
    show_default=True,
    type=click.FloatRange(0, 3600),
    help="Seconds that the running job may take to stop at shutdown.",
)
@click.option(
    "--grader",
    "graders",
    multiple=True,
    metavar="MODULE",
    help="Let jobs name graders of this Python module or package, run with the server's rights. Repeatable.",
)
def serve(
    host: str,
    port: int,
    data: Path,
    allow_remote: bool,
    grace: float,
    graders: tuple[str, ...],
    as_json: bool,
) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    from server import supervisor

    def announce(url: str) -> None:
        if as_json:
            print_json({"url": url, "data": str(data.resolve()), "pid": os.getpid()})
        else:
            note(f"serving {url}, jobs in {data.resolve()}; Ctrl-C stops")

    settings = supervisor.ServeSettings(data, host, port, allow_remote, grace, graders)
    supervisor.serve(settings, announce)
