"""mergekit in a virtual environment of its own: its dependencies are not ours.

    python -m tests.oracles.mergekit_venv

installs it (about 2 GB, most of it torch) below $CORP_CACHE or ~/.cache/corp; a second call does nothing.
mergekit is LGPL-3.0: it is run, never imported into this program.
"""

from __future__ import annotations

from tests.oracles.venv import Venv

MERGEKIT = Venv(
    "mergekit",
    (
        "mergekit==0.1.5",
        "torch==2.13.0",
        "transformers==5.24.0",
        "pydantic==2.14.4",
        "safetensors==0.8.0",
        "numpy==2.4.6",
    ),
)
interpreter = MERGEKIT.interpreter

if __name__ == "__main__":
    print(MERGEKIT.install())
