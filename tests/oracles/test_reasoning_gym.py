"""The listed tasks against reasoning-gym itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.users_venvs import REASONING_GYM, measured
from verify.adapters.gym import LISTED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What `gym_run` measured."""
    result: dict[str, Any] = measured(REASONING_GYM, "gym_run.py")
    return result


@pytest.mark.parametrize("task", LISTED)
def test_right_answers_pass_in_every_style_and_nothing_else_pays(found: dict[str, Any], task: str) -> None:
    measured = found["tasks"][task]
    values = measured["values"]
    assert measured["rows"] == measured["distinct"] == 100
    assert measured["invalid"] == 0
    for probe in ("echo", "majority", "junk", "other", "dump"):
        assert values.pop(probe) <= measured["majority"] + 0.02, probe
    assert set(values.values()) == {1.0}


def test_seeds_repeat_and_share_no_item(found: dict[str, Any]) -> None:
    zero, one, again = found["seeds"]
    assert zero == again
    assert len(set(zero) & set(one)) <= 3  # by chance; the library's own seeds 0 and 1 share 299 of 300


def test_a_small_family_ends_where_its_rows_do(found: dict[str, Any]) -> None:
    assert found["few"] == 100  # products of two digits


def test_a_task_loads_with_disjoint_splits(found: dict[str, Any]) -> None:
    loaded = found["loaded"]
    assert loaded["same"]
    assert loaded["oracle"] == 1
    assert len(loaded["questions"]) == len(set(loaded["questions"])) == 200


def test_an_item_that_stalls_its_generator_is_left_out(found: dict[str, Any]) -> None:
    made = found["stalled"]
    assert len(made) == 150
    assert max(made) > 163
    assert 163 not in made
