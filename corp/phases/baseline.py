"""The base on the support split: in several batch orders, and through the candidates' own path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corp.phases.run import Run
from population.proposal import BASE, Candidate, null_candidate
from population.table import Table

ORDERS = 3
"""Batch orders of the base, the usual one included."""


def baseline_phase(run: Run) -> dict[str, object]:
    """Score the base in three batch orders, and a candidate with σ = 0 that takes the perturbed ones' path.

    On an engine whose answers do not depend on what else is in the batch, all agree on every prompt. Where
    they do not, the difference is the noise floor: no gain below it means anything.
    """
    table = run.score("baseline", "support", [BASE, null_candidate(run.prepared.law)])
    base = float(table.rewards()[0])
    if np.ptp(table.values[0]) == 0:
        message = (
            f"warning: the base's reward is {base:g} on every support prompt; where perturbed models get"
            " the same, the job can only abstain. Check the verifier and max_new_tokens"
        )
        run.emit("log", {"message": message})
    others = [reordered(run, order) for order in range(1, ORDERS)]
    differing = int(np.sum(table.values[0] != table.values[1]))
    return {
        "base": base,
        "shaped": shaped(table),
        "success": float(table.success[0].sum() / table.valid[0].sum()),
        "null": float(table.rewards()[1]),
        "null_differs": differing,
        "noise_floor": floor(table, others),
    }


def shaped(table: Table) -> bool:
    """Whether any value says more than that its prompt is passed or not."""
    return bool(np.any(table.valid & (table.values != table.success)))


def reordered(run: Run, order: int) -> Table:
    return run.score("baseline", "support", [Candidate(f"{BASE.key}~order{order}", None, 0.0)], order=order)


def floor(usual: Table, others: Sequence[Table]) -> dict[str, Any]:
    """How far the base's score depends on the batch order.

    Returns:
        orders: how many; min, max: of the share of prompts that the base passes, over them; changed: prompts
        whose value, success or validity is not the same in all; n: prompts.
    """
    tables = (usual, *others)
    shares = [float(table.success[0].sum() / table.valid[0].sum()) for table in tables]
    values = np.array([np.where(table.valid[0], table.values[0], np.nan) for table in tables])
    success = np.array([table.success[0] for table in tables])
    same = (values == values[0]) | (np.isnan(values) & np.isnan(values[0]))
    return {
        "orders": len(shares),
        "min": min(shares),
        "max": max(shares),
        "changed": int(np.sum(~(same & (success == success[0])).all(axis=0))),
        "n": values.shape[1],
    }
