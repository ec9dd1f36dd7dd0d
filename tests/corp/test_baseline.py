"""The noise floor: what the base's own batch order changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from corp.phases.baseline import baseline_phase, floor
from population.direction import Law
from population.table import Table


def table(values: list[list[float]], valid: list[list[bool]] | None = None) -> Table:
    scores = np.array(values, np.float64)
    judged = np.ones_like(scores, np.bool_) if valid is None else np.array(valid, np.bool_)
    keys = tuple(f"k{row}" for row in range(len(scores)))
    return Table(keys, np.zeros(len(scores)), scores, judged, judged & (scores >= 1))


class OrderedRun:
    """A run whose base scores what each batch order says."""

    prepared = SimpleNamespace(law=Law())

    def __init__(self, orders: list[Table]) -> None:
        self.orders = orders
        self.asked: list[tuple[int, list[str]]] = []
        self.log: list[str] = []

    def score(self, phase: str, split: str, candidates: list[Any], *, order: int = 0) -> Table:
        assert (phase, split) == ("baseline", "support")
        assert order == 0 or candidates[0].direction is None
        self.asked.append((order, [candidate.key for candidate in candidates]))
        return self.orders[order]

    def emit(self, kind: str, data: dict[str, Any]) -> None:
        self.log.append(data["message"])


def test_the_base_is_scored_in_three_orders_under_keys_of_their_own() -> None:
    run = OrderedRun([table([[1, 0, 1, 0], [1, 0, 1, 1]]), table([[1, 1, 1, 0]]), table([[1, 0, 0, 0]])])
    found = baseline_phase(run)  # type: ignore[arg-type]
    assert run.asked == [(0, ["base", "null"]), (1, ["base~order1"]), (2, ["base~order2"])]
    assert (found["base"], found["null"], found["null_differs"]) == (0.5, 0.75, 1)
    assert found["noise_floor"] == {"orders": 3, "min": 0.25, "max": 0.75, "changed": 2, "n": 4}
    assert found["success"] == 0.5
    assert run.log == []


def test_the_floor_is_of_what_a_gate_compares() -> None:
    """A shaped value that moves without a prompt passing changes the prompt, not the share that passes."""
    found = floor(table([[1.1, 0.2, 1.0]]), [table([[1.1, 0.4, 1.0]]), table([[0.9, 0.2, 1.0]])])
    assert found == {"orders": 3, "min": 1 / 3, "max": 2 / 3, "changed": 2, "n": 3}


def test_a_steady_engine_has_no_floor() -> None:
    same = table([[1, 0, 1, 0]])
    assert floor(same, [same, same]) == {"orders": 3, "min": 0.5, "max": 0.5, "changed": 0, "n": 4}


@pytest.mark.parametrize(("valid", "changed"), [([True, False, True], 1), ([True, True, True], 0)])
def test_a_verdict_that_is_valid_in_one_order_only_has_changed(valid: list[bool], changed: int) -> None:
    found = floor(table([[1, 1, 0]]), [table([[1, 1, 0]], [valid])])
    assert found["changed"] == changed


def test_a_prompt_that_no_order_could_judge_has_not_changed() -> None:
    never = [[True, False, True]]
    assert floor(table([[1, 1, 0]], never), [table([[1, 0, 0]], never)])["changed"] == 0
