"""The libraries whose graders we call, each in an environment of its own.

    python -m tests.oracles.users_venvs

installs both (reasoning-gym 0.4 GB, verifiers 0.6 GB).
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.venv import Venv

OURS = ("pydantic==2.14.4", "jsonschema==4.26.0")  # what `import verify` needs
REASONING_GYM = Venv("reasoning_gym", ("reasoning-gym==0.1.25", *OURS))
VERIFIERS = Venv("verifiers", ("verifiers==0.4.0", *OURS))


def measured(environment: Venv, script: str) -> Any:
    """What a script of this folder prints, as JSON, in the environment; skips where that cannot be built."""
    try:
        python = environment.install()
    except subprocess.CalledProcessError:
        pytest.skip(f"the environment of {environment.name} cannot be built here")
    here = Path(__file__).parent
    done = subprocess.run(
        [python, here / script],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "PYTHONPATH": str(here.parents[1])},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


if __name__ == "__main__":
    for environment in (REASONING_GYM, VERIFIERS):
        print(environment.install())
