"""The libraries whose graders we call, each in an environment of its own.

    python -m tests.oracles.users_venvs

installs both (reasoning-gym 0.4 GB, verifiers 0.6 GB).
"""

from __future__ import annotations

from tests.oracles.venv import Venv

OURS = ("pydantic==2.14.4", "jsonschema==4.26.0")  # what `import verify` needs
REASONING_GYM = Venv("reasoning_gym", ("reasoning-gym==0.1.25", *OURS))
VERIFIERS = Venv("verifiers", ("verifiers==0.4.0", *OURS))

if __name__ == "__main__":
    for environment in (REASONING_GYM, VERIFIERS):
        print(environment.install())
