"""Consolidation operators by name: the paper's rows side by side on one scored population."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from types import MappingProxyType

from corp.errors import OperatorInvalid
from corp.operators.mean import WeightedMean
from corp.operators.proposal import Operator, Proposal
from corp.operators.top1 import BestSingle
from corp.operators.weights import CorpWeights, corp_weights

__all__ = ["OPERATORS", "CorpWeights", "Operator", "Proposal", "corp_weights", "operator"]

_ALL: tuple[Operator, ...] = (
    WeightedMean("corp", "reward-weighted mean, sharpened by alignment and dispersion", attrgetter("second")),
    WeightedMean("reward_mean", "reward-weighted mean of the elites", attrgetter("first")),
    BestSingle("top1", "the best single candidate"),
)
OPERATORS: Mapping[str, Operator] = MappingProxyType({entry.name: entry for entry in _ALL})


def operator(name: str) -> Operator:
    """The operator of that name.

    Raises:
        OperatorInvalid: there is none; the error lists those there are.
    """
    try:
        return OPERATORS[name]
    except KeyError:
        raise OperatorInvalid(
            f"no operator is called {name!r}", hint=f"there are {', '.join(OPERATORS)}"
        ) from None
