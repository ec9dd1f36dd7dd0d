"""A virtual environment below the cache directory for a program whose dependencies are not ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("CORP_CACHE", "~/.cache/corp")).expanduser() / "oracles"


@dataclass(frozen=True)
class Venv:
    """Named for its folder; `requirements` are pip's."""

    name: str
    requirements: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return CACHE / self.name

    @property
    def _complete(self) -> Path:
        return self.folder / "complete.txt"  # written last: without it the environment counts as absent

    def interpreter(self) -> Path | None:
        """The environment's Python, if it is there and holds what is asked for."""
        try:
            complete = self._complete.read_text() == "\n".join(self.requirements)
        except FileNotFoundError:
            complete = False
        return self.folder / "bin" / "python" if complete else None

    def install(self) -> Path:
        """The environment's Python, installed if need be.

        Raises:
            subprocess.CalledProcessError: it cannot be built here.
        """
        found = self.interpreter()
        if found is not None:
            return found
        shutil.rmtree(self.folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(self.folder)], check=True)
        python = self.folder / "bin" / "python"
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *self.requirements], check=True)
        self._complete.write_text("\n".join(self.requirements))
        return python
