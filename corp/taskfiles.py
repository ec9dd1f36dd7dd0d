"""A job's YAML file and the task files that it names, read before the job is validated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corp.errors import GuardInvalid, SpecInvalid
from corp.strict_yaml import loads
from verify.data import SPLITS


def read_yaml(path: Path) -> Any:
    """What a YAML file holds.

    Raises:
        SpecInvalid: it cannot be read or is not YAML.
    """
    try:
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecInvalid(
            f"{path} cannot be read: {error.strerror}", hint="name a job or task file in YAML"
        ) from None
    except ValueError as error:
        raise SpecInvalid(f"{path} is not valid YAML: {error}") from None


def with_guards(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The job's data with every guard's task inline and its data paths absolute.

    A guard may lie in another folder than the job's task, and a job has one folder for its relative paths.

    Args:
        data: of a job file, whatever is in it.
        folder: the job file's.

    Raises:
        GuardInvalid: a guard's task file is missing or not YAML.
    """
    gate = data.get("gate")
    if not isinstance(gate, Mapping) or not isinstance(gate.get("guards"), list):
        return dict(data)
    guards = [_guard(guard, number, folder.resolve()) for number, guard in enumerate(gate["guards"])]
    return {**data, "gate": {**gate, "guards": guards}}


def _guard(guard: Any, number: int, folder: Path) -> Any:
    if not isinstance(guard, Mapping):
        return guard
    task = guard.get("task")
    if isinstance(task, str):
        try:
            task, folder = read_yaml(folder / task), (folder / task).parent
        except SpecInvalid as error:
            raise GuardInvalid(f"gate.guards.{number}.task: {error.detail}", hint=error.hint) from None
    return {**guard, "task": _anchored(task, folder)}


def _anchored(task: Any, folder: Path) -> Any:
    """The task with the paths in its data made absolute."""
    data = task.get("data") if isinstance(task, Mapping) else None
    if not isinstance(data, Mapping):
        return task
    split = {name: _source(source, folder) for name, source in data.items() if name in SPLITS}
    return {**task, "data": {**_source(data, folder), **split}}


def _source(source: Any, folder: Path) -> Any:
    if isinstance(source, Mapping) and isinstance(source.get("path"), str):
        return {**source, "path": str(folder / source["path"])}
    return source
