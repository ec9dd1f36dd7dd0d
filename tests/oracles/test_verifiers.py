"""The adapter for the `verifiers` library against the library itself."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.users_venvs import VERIFIERS

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
TASKS = """
import verifiers.v1 as vf


class Data(vf.TaskData):
    answer: str


class Sum(vf.Task[Data]):
    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        return float(trace.last_reply == self.data.answer)

    @vf.reward(weight=0.25)
    async def short(self, trace: vf.Trace) -> float:
        return float(len(trace.last_reply) < 10)


class Keyed(vf.Task[Data]):
    @vf.reward
    async def both(self, trace: vf.Trace) -> dict[str, float]:
        return {"a": 0.5, "b": float(trace.last_reply == self.data.answer)}


class Boxed(vf.Task[Data]):
    @vf.reward
    async def boxed(self, trace: vf.Trace, runtime: vf.Runtime) -> float:
        return 1.0


class Missing(vf.Task[Data]):
    @vf.reward
    async def right(self, trace: vf.Trace) -> float:
        raise KeyError("gold")


@vf.reward
async def alone(completion, answer):
    return float(completion[-1]["content"] == answer)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Verdicts by object."""
    try:
        python = VERIFIERS.install()
    except subprocess.CalledProcessError:
        pytest.skip("the environment of the verifiers library cannot be built here")
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "users_tasks.py").write_text(TASKS)
    command = [python, Path(__file__).with_name("verifiers_run.py"), folder]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    verdicts: dict[str, Any] = json.loads(done.stdout)
    return verdicts


def test_a_task_gets_the_weighted_sum_of_its_rewards(found: dict[str, Any]) -> None:
    assert [verdict["value"] for verdict in found["Sum"]] == [1.25, 1.25, 0.25, 0]
    assert found["Sum"][2]["components"] == {"right": 0, "short": 1}
    assert found["Keyed"][0]["components"] == {"a": 0.5, "b": 1}
    assert found["Keyed"][0]["value"] == 1.5


def test_a_decorated_function_is_judged_by_name(found: dict[str, Any]) -> None:
    assert [(verdict["value"], verdict["valid"]) for verdict in found["alone"]] == [(1, True), (0, True)]


def test_a_reward_that_cannot_run_here_or_raises_is_no_verdict(found: dict[str, Any]) -> None:
    for name, detail in (("Boxed", "needs a container"), ("Missing", "gold")):
        (verdict,) = found[name]
        assert (verdict["valid"], verdict["error"]) == (False, "exception")
        assert detail in verdict["detail"]
