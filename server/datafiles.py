"""The files that a job's data come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corp.spec import JobSpec
from verify.data import SPLITS, FileSource, SplitSources
from verify.task import TaskSpec


def job_files(spec: JobSpec) -> Iterator[tuple[str, str]]:
    """JSON pointer into the job and path of each file that its task and its guards are read from."""
    yield from data_files(spec.task, "/task")
    for number, guard in enumerate(spec.gate.guards):
        yield from data_files(guard.task, f"/gate/guards/{number}/task")


def data_files(task: TaskSpec, at: str = "/task") -> Iterator[tuple[str, str]]:
    """JSON pointer and path of each file that the data of the task at pointer ``at`` are read from."""
    data = task.data
    sources = (
        {f"{at}/data/{name}": getattr(data, name) for name in SPLITS}
        if isinstance(data, SplitSources)
        else {f"{at}/data": data}
    )
    for pointer, source in sources.items():
        if isinstance(source, FileSource):
            yield f"{pointer}/path", source.path


def is_absolute(path: str) -> bool:
    """Whether the path means the same wherever it is read; one with a NUL byte means nothing."""
    return "\0" not in path and Path(path).is_absolute()
