"""The files that a task's data come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from verify.data import SPLITS, FileSource, SplitSources
from verify.task import TaskSpec


def data_files(task: TaskSpec) -> Iterator[tuple[str, str]]:
    """JSON pointer into the job and path of each file that the task's data are read from."""
    data = task.data
    sources = (
        {f"/task/data/{name}": getattr(data, name) for name in SPLITS}
        if isinstance(data, SplitSources)
        else {"/task/data": data}
    )
    for pointer, source in sources.items():
        if isinstance(source, FileSource):
            yield f"{pointer}/path", source.path


def is_absolute(path: str) -> bool:
    """Whether the path means the same wherever it is read; one with a NUL byte means nothing."""
    return "\0" not in path and Path(path).is_absolute()
