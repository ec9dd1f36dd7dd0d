from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEASURED = """
import sys, time
started = time.process_time()
import pydantic
from pydantic import BaseModel
class Warm(BaseModel):
    x: int = 0
middle = time.process_time()
import verify
verify.verifier("gsm8k")
ended = time.process_time()
print(middle - started, ended - middle, *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def run() -> tuple[float, float, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], capture_output=True, text=True, check=True, cwd=ROOT
    )
    pydantic, ours, *modules = done.stdout.split()
    return float(pydantic), float(ours), set(modules)


def test_importing_verify_is_cheap_and_brings_no_heavy_library() -> None:
    runs = [run() for _ in range(3)]
    for _, _, modules in runs:
        assert not modules & {"torch", "transformers", "numba", "numpy", "scipy", "jsonschema", "yaml"}
    assert min(ours / pydantic for pydantic, ours, _ in runs) < 1
