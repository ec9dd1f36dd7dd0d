"""Which Python code a task that came over HTTP may name.

A verifier of the kinds below runs a module of this machine with the server's rights. Whoever starts the
server says which; an entry point of the group `corp.verifiers` was said by whoever installed its package.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from corp.spec import JobSpec
from server.errors import GraderRefused
from verify.task import TaskSpec

KINDS = ("function", "trl", "verl", "randopt", "verifiers")


def check_job(spec: JobSpec, allowed: Collection[str]) -> None:
    """The job's task and its guards.

    Raises:
        GraderRefused: as `check_task`.
    """
    check_task(spec.task, "/task", allowed)
    for number, guard in enumerate(spec.gate.guards):
        check_task(guard.task, f"/gate/guards/{number}/task", allowed)


def check_task(task: TaskSpec, at: str, allowed: Collection[str]) -> None:
    """Refuses modules other than those allowed and what lies in them, and folders to import from.

    Args:
        at: JSON pointer of the task.
        allowed: names of modules and packages.

    Raises:
        GraderRefused: with the place.
    """
    for place, params in _verifiers(task.verifier, f"{at}/verifier"):
        if params.get("path") is not None:
            raise GraderRefused(
                "a job sent to a server may not name a folder to import from",
                pointer=f"{place}/path",
                hint="put the folder on the server's PYTHONPATH",
            )
        for reference in _references(params):
            module = reference.partition(":")[0]
            if not any(module == name or module.startswith(f"{name}.") for name in allowed):
                raise GraderRefused(
                    "the server does not run graders of this module",
                    pointer=place,
                    hint=f"start it with `corp serve --grader {module.partition('.')[0]}`",
                )


def _verifiers(value: Any, at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every verifier of the kinds above, also inside others."""
    if isinstance(value, Mapping):
        if value.get("kind") in KINDS:
            yield at, value
        for name, inner in value.items():
            yield from _verifiers(inner, f"{at}/{name}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _verifiers(inner, f"{at}/{number}")


def _references(params: Mapping[str, Any]) -> list[str]:
    named = [params.get("object"), *(params.get("functions") or ())]
    return [reference for reference in named if isinstance(reference, str)]
