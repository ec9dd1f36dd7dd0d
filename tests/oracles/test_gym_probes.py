"""The hackability report on reasoning-gym's own scorers, in its environment."""

from __future__ import annotations

import pytest

from tests.oracles.gym_probes_run import BROKEN
from tests.oracles.users_venvs import REASONING_GYM, measured
from verify.adapters.gym import LISTED
from verify.hackability import Report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    found = measured(REASONING_GYM, "gym_probes_run.py")
    return {task: Report.from_json(report) for task, report in found.items()}


@pytest.mark.parametrize(
    ("task", "probes"),
    [
        ("game_of_life_halting", {"junk", "constant", "echo", "dump", "hedge", "other"}),
        ("coin_flip", {"junk", "constant", "other"}),
        # whether its best constant fails as well depends on the sample's share of zeros
        ("circuit_logic", {"decorated"}),
        ("polynomial_equations", {"junk"}),
    ],
)
def test_the_published_broken_scorers_are_caught(
    reports: dict[str, Report], task: str, probes: set[str]
) -> None:
    assert probes <= {finding.probe for finding in reports[task].failed}


def test_the_listed_tasks_pass_through_our_extraction(reports: dict[str, Report]) -> None:
    listed = {task: report for task, report in reports.items() if task not in BROKEN}
    assert len(listed) >= len(LISTED) - 1
    lines = [finding.line for report in listed.values() for finding in report.failed]
    assert lines == []
