"""The sweep and recentering through a storm of SIGKILL: the same choices, the same recipe."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.corp.jobs import pocket_job
from tests.server.service import ROOT

pytestmark = pytest.mark.slow

PATIENCE = 600.0
KILLS = 5
MODES: dict[str, dict[str, Any]] = {
    "off": {"mode": "off"},
    "rounds": {"mode": "rounds", "rounds": 3, "anchor": 0.1, "z": 0},
    "local": {"mode": "local", "rounds": 2, "population": 24},
}


MEAN = {"operators": ["reward_mean"], "q": [0.5], "beta": [10], "scales": [1, 2, 4]}
SWEEP = MEAN | {"operators": ["greedy", "es", "corp", "ties"], "evaluations": 9}


def job_of(pocket: Path, mode: str) -> dict[str, Any]:
    job = pocket_job(pocket)
    job["task"]["splits"] = {"support": 200, "select": 200, "gate": 400, "test": 200}
    return {
        **job,
        "population": {"size": 60, "sigmas": [0.01, 0.02], "seed": 3},
        "consolidate": SWEEP if mode == "off" else MEAN,
        "recenter": MODES[mode],
        "controls": {"enabled": False},
        "engine": {"batch_size": 50, "threads": 1},
    }


def start(spec: Path, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "server.command", "run", str(spec), "--out", str(out), "--json"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def blocks(out: Path, before: Path) -> int:
    """Blocks of scores that are durable, once the phase before is."""
    if not before.exists():
        return 0
    with closing(sqlite3.connect(f"file:{out / 'scores.sqlite'}?mode=ro", uri=True)) as connection:
        count: int = connection.execute("SELECT COUNT(*) FROM block").fetchone()[0]
    return count


def kill_within(process: subprocess.Popen[bytes], out: Path, mode: str, moments: random.Random) -> bool:
    """SIGKILL a while into new work of the phase; whether the phase was still going on then."""
    before, phase = ("search", "consolidate") if mode == "off" else ("consolidate", "recenter")
    begun, wanted, deadline = 0, moments.randint(1, 60), time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        now = blocks(out, out / f"{before}.json")
        begun = begun or now
        if (out / f"{phase}.json").exists() or (begun and now - begun >= wanted):
            break
        time.sleep(0.02)
    time.sleep(moments.uniform(0, 0.3))
    process.send_signal(signal.SIGKILL)
    process.wait()
    return not (out / f"{phase}.json").exists()


def outcome(out: Path) -> dict[str, Any]:
    """What was found; how much noise that took is told by the process that finished, for itself."""
    names = ("search.json", "consolidate.json", "recipe.json", "gate.json")
    paths = [*(out / name for name in names), *out.glob("recenter*.json")]
    found = {path.name: json.loads(path.read_bytes()) for path in paths}
    for values in found.values():
        for name in ("noise_values", "noise_passes", "seal"):
            values.pop(name, None)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_kills_while_sweeping_or_recentering_change_neither_choices_nor_recipe(
    pocket: Path, tmp_path: Path, mode: str
) -> None:
    spec = tmp_path / "pocket.yaml"
    spec.write_text(yaml.safe_dump(job_of(pocket, mode)))
    assert start(spec, tmp_path / "whole").wait(PATIENCE) == 0
    moments, killed = random.Random(mode), 0
    for _ in range(KILLS):
        killed += kill_within(start(spec, tmp_path / "killed"), tmp_path / "killed", mode, moments)
    assert killed >= 2, "too few of the kills fell into the phase to mean anything"
    assert start(spec, tmp_path / "killed").wait(PATIENCE) == 0
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")
    assert ("recenter-1.json" in outcome(tmp_path / "whole")) == (mode != "off")
