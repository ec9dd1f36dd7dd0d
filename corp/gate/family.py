"""All registered proposals against the base under one policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from corp.gate import graded, paper
from corp.gate.decision import Decision, decide
from corp.gate.holm import step_down

Values = npt.NDArray[np.float64]
Policy = Literal["strict", "paper"]
Metric = Literal["success", "value"]

METHODS = {
    ("strict", "success"): "exact McNemar test",
    ("strict", "value"): "paired sign-flip test and bootstrap-t interval",
    ("paper", "success"): "one standard error of the mean difference",
    ("paper", "value"): "one standard error of the mean difference",
}


def judge(
    pairs: Sequence[tuple[Values, Values]],
    *,
    policy: Policy = "strict",
    metric: Metric = "success",
    alpha: float = 0.05,
    seed: int = 0,
) -> list[Decision]:
    """One decision per pair, in the order of registration.

    strict: the chance that any candidate which is no better is accepted is at most alpha (Holm). Which of
    several accepted ones is taken was settled beforehand: the first in the order of registration, the best
    on the select split. Taking the one with the largest gain here would make that gain look larger than it
    is.

    Args:
        pairs: base and candidate per proposal, each of shape (n,), 0 or 1 for metric success; n may differ
            where a verdict was not valid.
        alpha: level of the family; the paper's policy has none.
        seed: of the sampled permutations of metric value.

    Raises:
        GateInvalid: no proposal or more than five, or scores that cannot be compared.
    """
    if policy == "paper":
        return [paper.decide(base, candidate) for base, candidate in pairs]
    if metric == "value":
        found = [graded.compare(base, candidate, seed=seed) for base, candidate in pairs]
        steps = step_down([one.p_value if one.gain > 0 else 1.0 for one in found], alpha)
        return [one.at(alpha / step.left) for one, step in zip(found, steps, strict=True)]
    first = [decide(base, candidate, alpha=alpha) for base, candidate in pairs]
    steps = step_down([one.p_value if one.gain > 0 else 1.0 for one in first], alpha)
    return [
        decide(base, candidate, looks=step.left, alpha=alpha)
        for (base, candidate), step in zip(pairs, steps, strict=True)
    ]
