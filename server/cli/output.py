"""What the command prints: results to stdout, progress and errors to stderr."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import click

from verify.errors import CorpError

F = TypeVar("F")

USER_ERROR = 2
INTERNAL_ERROR = 1
INTERRUPTED = 130


class Command(click.Command):
    """A subcommand with ``--json`` that turns our errors into one line and exit code 2."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params.append(
            click.Option(["as_json", "--json"], is_flag=True, help="JSON on stdout, for programs.")
        )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except CorpError as error:
            if ctx.params["as_json"]:
                print_json({"error": describe(error)})
            complain(error)
            ctx.exit(USER_ERROR)


def code_of(error: CorpError) -> str:
    """The error's stable name; a refusal's is the one that the server gave it."""
    problem = getattr(error, "problem", None)
    return str(problem["code"]) if isinstance(problem, Mapping) else error.code


def describe(error: CorpError) -> dict[str, str]:
    return {"code": code_of(error), "detail": error.detail, "hint": error.hint}


def complain(error: CorpError) -> None:
    click.echo(f"error [{code_of(error)}]: {error}", err=True)


def complain_usage(error: click.ClickException, *, as_json: bool) -> None:
    """A command line that cannot be understood, in the form of our own errors."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"see {context.command_path} --help" if context else ""
    detail = error.format_message().rstrip(".")
    if as_json:
        print_json({"error": {"code": "usage", "detail": detail, "hint": hint}})
    note(f"error [usage]: {detail}" + (f" – {hint}" if hint else ""))


def print_json(value: object) -> None:
    """One document on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


def note(text: str) -> None:
    """A line for people; never part of a result."""
    click.echo(text, err=True)
