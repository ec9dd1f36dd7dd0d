"""Programs per second in the sandbox, and in a fresh interpreter for each.

``python -m benchmarks sandbox`` runs MBPP's own solutions with the calls of their tests, two at a time. The
interpreter gets no cage at all and as little to start as it can (``-I -S``); what it prints is compared with
what comes out of the sandbox. The data lie beside the repository, in ``../shared/data``.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from verify.sandbox import Limits, Pool, Program

DATA = Path(__file__).parents[2] / "shared" / "data" / "mbpp" / "mbpp.jsonl"
WORKERS = 2
ROUNDS = 3
SECONDS = 10.0

Answers = list[object]  # for each program its values, None where it has none


def main(_model: Path | None = None) -> dict[str, float]:
    """Print and return programs per second, the best of three rounds."""
    if not DATA.is_file():
        print(f"skipped: {DATA} is not there")
        return {}
    programs = solutions()
    with Pool(WORKERS, cached=False) as pool, Pool(WORKERS) as cached:
        ways: dict[str, Callable[[], Answers]] = {
            "sandbox": lambda: caged(pool, programs),
            "fresh interpreter": lambda: fresh(programs),
            "sandbox, seen before": lambda: caged(cached, programs),
        }
        answers = {name: way() for name, way in ways.items()}  # starts what must be started
        rates = dict.fromkeys(ways, 0.0)
        for _ in range(ROUNDS):  # in turn, so that another load on the machine meets all
            for name, way in ways.items():
                rates[name] = max(rates[name], len(programs) / timed(way))
    pairs = list(zip(answers["sandbox"], answers["fresh interpreter"], strict=True))
    print(f"{'':<24}{'programs/s':>12}{'ratio':>9}")
    for name, rate in rates.items():
        print(f"{name:<24}{rate:>12.0f}{rate / rates['fresh interpreter']:>9.2f}")
    print(f"the same values from both: {sum(a == b for a, b in pairs)} of {len(pairs)} programs")
    return rates


def timed(way: Callable[[], object]) -> float:
    begun = time.perf_counter()
    way()
    return time.perf_counter() - begun


def caged(pool: Pool, programs: list[Program]) -> Answers:
    return [list(result.values) or None for result in pool.evaluate_many(programs)]


def fresh(programs: list[Program]) -> Answers:
    with ThreadPoolExecutor(WORKERS) as threads:
        return list(threads.map(interpreted, programs))


def interpreted(program: Program) -> object:
    text = f"{program.source}\n{program.setup}\nprint(ascii([{', '.join(program.calls)}]))"
    command = [sys.executable, "-I", "-S", "-B", "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3 * SECONDS, check=False)
    try:
        values: object = ast.literal_eval(done.stdout.splitlines()[-1])
    except (ValueError, SyntaxError, IndexError):
        return None
    return values


def solutions() -> list[Program]:
    """Those rows whose every test compares a call with ``==``."""
    rows = map(json.loads, DATA.read_text(encoding="utf-8").splitlines())
    made = []
    for row in rows:
        tests = [ast.parse(test).body[0] for test in row["test_list"]]
        calls = [
            ast.unparse(test.test.left)
            for test in tests
            if isinstance(test, ast.Assert)
            and isinstance(test.test, ast.Compare)
            and isinstance(test.test.ops[0], ast.Eq)
        ]
        if len(calls) == len(tests):
            made.append(
                Program(row["code"], calls, row["test_setup_code"], Limits(cpu=SECONDS, wall=3 * SECONDS))
            )
    return made
