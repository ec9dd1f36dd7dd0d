"""The pages name what there is."""

from __future__ import annotations

from collections.abc import Iterator

import click

import corp.errors
import population.errors
import server.errors
from server.command import corp as command
from tests.server.service import ROOT
from verify.errors import CorpError

API = (ROOT / "docs" / "api.md").read_text()
CLI = (ROOT / "docs" / "cli.md").read_text()

# Raised only by the command itself, before or without an HTTP answer, or caught on the way.
NOT_OVER_HTTP = {
    "address_unusable",
    "remote_refused",
    "data_locked",
    "directory_unusable",
    "database_mismatch",
    "server_unreachable",
    "server_refused",
    "lease_lost",
    "cancelled",
    "scoring_stopped",
    "verdicts_invalid",
    "no_signal",
    "run_unfinished",
    "run_missing",
}


def codes(root: type[CorpError]) -> Iterator[str]:
    for kind in root.__subclasses__():
        if kind.__module__ in (
            server.errors.__name__,
            corp.errors.__name__,
            population.errors.__name__,
            "verify.errors",
        ):
            yield kind.code
            yield from codes(kind)


def test_every_error_that_a_client_can_see_is_listed() -> None:
    missing = {code for code in codes(CorpError) if f"`{code}`" not in API}
    assert missing == NOT_OVER_HTTP


def test_every_command_is_listed() -> None:
    for name, found in command.commands.items():
        names = [f"{name} {inner}" for inner in found.commands] if isinstance(found, click.Group) else [name]
        for full in names:
            assert f"`corp {full}" in CLI
