"""Every benchmark of docs/performance.md: ``python -m benchmarks --model DIR [NAME …]``."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

NAMES = (
    "noise",
    "sweep",
    "operators",
    "consolidation",
    "generation",
    "memory",
    "export",
    "answers",
    "sandbox",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones; default all")
    parser.add_argument("--model", type=Path, required=True, help="directory of SmolLM2-135M-Instruct")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(NAMES):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    for name in arguments.names or NAMES:
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main(arguments.model)


if __name__ == "__main__":
    main()
