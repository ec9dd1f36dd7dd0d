"""A JSONL file of answers that grows chunk by chunk and appears under its name when it is complete."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corp.errors import OutputUnusable
from population.errors import TargetExists
from population.publish import publish_bytes


class AnswerFile:
    """Answers on their way to ``path``, kept in ``path.partial`` until all are there.

    The partial file's first line says whose answers they are; a rerun of the same job continues it.

    Args:
        path: the file to make.
        identity: of the ensemble and its prompts.
        chunk: answers that are added together; a torn chunk is dropped.

    Attributes:
        done: answers that are there.

    Raises:
        TargetExists: `path` is there already.
        OutputUnusable: the directory cannot be written, or the partial file is another job's.
    """

    def __init__(self, path: Path, identity: str, chunk: int) -> None:
        if path.exists():
            raise TargetExists(f"{path} exists already", hint="remove it or name another file")
        self.path = path
        self.partial = path.with_name(f"{path.name}.partial")
        self._head = json.dumps({"ensemble": identity}) + "\n"
        try:
            self.done = self._resume(chunk) if self.partial.exists() else self._start()
        except OSError as error:
            raise OutputUnusable(f"{self.partial} cannot be written: {error.strerror}") from None

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add a chunk; it is on the disk when this returns."""
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        with self.partial.open("ab") as file:
            file.write(data.encode())
            file.flush()
            os.fsync(file.fileno())
        self.done += len(rows)

    def publish(self) -> None:
        """Put the finished file in its place."""
        publish_bytes(self.path, self.partial.read_bytes()[len(self._head.encode()) :])
        self.partial.unlink()

    def _start(self) -> int:
        publish_bytes(self.partial, self._head.encode())
        return 0

    def _resume(self, chunk: int) -> int:
        lines = self.partial.read_bytes().splitlines(keepends=True)
        if not lines or lines[0] != self._head.encode():
            raise OutputUnusable(
                f"{self.partial} holds answers of another run, ensemble or prompt file",
                hint="remove it, or name another output file",
            )
        whole = [line for line in lines[1:] if line.endswith(b"\n")]
        done = len(whole) - len(whole) % chunk
        os.truncate(self.partial, sum(map(len, lines[: 1 + done])))
        return done
