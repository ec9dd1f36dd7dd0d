"""Operators on 5,000 candidates by 500 prompts stay small beside a product of the scores with themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.memory import high_water, reset_high_water, status
from benchmarks.operators import run, scored
from corp.operators import OPERATORS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def measured() -> dict[str, float]:
    """In a process of its own with one thread, so that no other test and no spinning thread is counted."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.corp.operators.test_speed"]
    reply = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return json.loads(reply.stdout)


def test_all_operators_together_stay_below_a_gibibyte(measured):
    assert measured["peak of a block of 600 MiB"] > 550  # a peak is noticed at all
    assert measured["peak above the scores, MiB"] < 1024


def test_the_time_of_all_operators_is_a_few_products_of_the_scores(measured):
    """One product counts agreements of all pairs of candidates, 12.5 billion multiply-adds."""
    assert measured["operators, s"] < 8 * measured["product, s"]


def measure() -> dict[str, float]:
    """`ties` is left out of the time: its length is measured on noise, not on scores."""
    scores = scored()
    before = status("VmRSS")
    reset_high_water()
    np.ones((600, 1024, 128))
    noticed = high_water() - before
    reset_high_water()
    counts = {name: run(name, scores) for name in OPERATORS}
    assert min(counts.values()) >= 1
    peak = high_water() - before
    operators = sum(spent(lambda name=name: run(name, scores)) for name in set(OPERATORS) - {"ties"})
    return {
        "peak of a block of 600 MiB": noticed,
        "peak above the scores, MiB": peak,
        "operators, s": operators,
        "product, s": spent(lambda: scores.values @ scores.values.T),
    }


def spent(action) -> float:
    begin = time.process_time()
    action()
    return time.process_time() - begin


if __name__ == "__main__":
    print(json.dumps(measure()))
