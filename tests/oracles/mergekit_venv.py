"""mergekit in a virtual environment of its own: its dependencies are not ours.

    python -m tests.oracles.mergekit_venv

installs it (about 2 GB, most of it torch) below $CORP_CACHE or ~/.cache/corp; a second call does nothing.
mergekit is LGPL-3.0: it is run, never imported into this program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = (
    "mergekit==0.1.5",
    "torch==2.13.0",
    "transformers==5.24.0",
    "pydantic==2.14.4",
    "safetensors==0.8.0",
    "numpy==2.4.6",
)
FOLDER = Path(os.environ.get("CORP_CACHE", "~/.cache/corp")).expanduser() / "oracles" / "mergekit"
COMPLETE = FOLDER / "complete.txt"  # written last: without it the environment counts as absent


def interpreter() -> Path | None:
    """The environment's Python, if it is there and holds what is asked for."""
    try:
        complete = COMPLETE.read_text() == "\n".join(REQUIREMENTS)
    except FileNotFoundError:
        complete = False
    return FOLDER / "bin" / "python" if complete else None


def install() -> Path:
    """The environment's Python, installed if need be."""
    found = interpreter()
    if found is not None:
        return found
    shutil.rmtree(FOLDER, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
    python = FOLDER / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
    COMPLETE.write_text("\n".join(REQUIREMENTS))
    return python


if __name__ == "__main__":
    print(install())
