"""A job's YAML file, with ``--set`` overrides, for a run here or for a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from corp.spec import JobSpec

F = TypeVar("F", bound=Callable[..., Any])


def spec_options(function: F) -> F:
    """The SPEC argument and ``--set``."""
    override = click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Replace a field of the spec, e.g. population.size=48; the value is YAML. Repeatable.",
    )
    argument = click.argument("spec", type=click.Path(path_type=Path, dir_okay=False))
    return argument(override(function))


def read_job(path: Path, overrides: Sequence[str]) -> tuple[JobSpec, Path]:
    """The spec in a file after its overrides, and the folder that relative data paths start from.

    A task in a file of its own (``task: FILE``) is read in first, so that overrides reach its fields.

    Raises:
        SpecInvalid: unreadable, malformed, or a wrong field or override.
    """
    from corp.spec import parse
    from corp.taskfiles import read_yaml, with_guards

    data, folder = read_yaml(path), path.parent
    if isinstance(data, dict):
        data = dict(data)
        if isinstance(data.get("task"), str):
            task_file = folder / data["task"]
            data["task"], folder = read_yaml(task_file), task_file.parent
        for override in overrides:
            _apply(data, override)
        data = with_guards(data, path.parent)
    return parse(data, str(path)), folder.resolve()


def portable(spec: JobSpec, folder: Path) -> dict[str, Any]:
    """The spec as a server can use it: rows of a relative path inline, a local model's path absolute.

    Absolute data paths of the task stay as they are and are read on the server's machine; the guards' rows
    are written in.

    Raises:
        DataUnusable: the data file cannot be read.
    """
    from server.datafiles import data_files, is_absolute
    from verify.task import load_task

    if not all(is_absolute(path) for _, path in data_files(spec.task)):
        spec = spec.model_copy(update={"task": load_task(spec.task, folder).inline()})
    guards = tuple(
        guard.model_copy(update={"task": load_task(guard.task, folder).inline()})
        for guard in spec.gate.guards
    )
    spec = spec.model_copy(update={"gate": spec.gate.model_copy(update={"guards": guards})})
    if Path(spec.model).is_dir():
        spec = spec.model_copy(update={"model": str(Path(spec.model).resolve())})
    return spec.model_dump(mode="json")


def _apply(data: dict[str, Any], override: str) -> None:
    from corp.errors import SpecInvalid
    from corp.strict_yaml import loads

    field, sign, text = override.partition("=")
    parts = field.split(".")
    if not sign or not all(parts):
        raise SpecInvalid(
            f"--set {override}: not of the form FIELD=VALUE", hint="e.g. --set population.size=48"
        )
    try:
        value = loads(text)
    except ValueError as error:
        raise SpecInvalid(f"--set {field}: the value is not YAML: {error}") from None
    for part in parts[:-1]:
        data[part] = dict(data[part]) if isinstance(data.get(part), dict) else {}
        data = data[part]
    data[parts[-1]] = value
