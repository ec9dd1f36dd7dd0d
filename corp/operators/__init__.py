"""Consolidation operators by name: the papers' rows and ours side by side on one scored population."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from corp.errors import OperatorInvalid
from corp.operators.corp import Corp
from corp.operators.corp_paper_code import CorpPaperCode
from corp.operators.dare import Dare
from corp.operators.elite_mean import EliteMean
from corp.operators.es import Es
from corp.operators.greedy import Greedy
from corp.operators.proposal import AdaptiveOperator, Evaluate, Operator, Proposal
from corp.operators.random_mean import RandomMean
from corp.operators.response import Response
from corp.operators.reward_mean import RewardMean
from corp.operators.scores import PopulationScores
from corp.operators.settings import OperatorSettings
from corp.operators.ties import Ties
from corp.operators.top1 import Top1
from corp.operators.top_r import TopR
from corp.operators.weights import CorpWeights, corp_weights

__all__ = [
    "OPERATORS",
    "AdaptiveOperator",
    "CorpWeights",
    "Evaluate",
    "Operator",
    "OperatorSettings",
    "PopulationScores",
    "Proposal",
    "corp_weights",
    "operator",
]

_ALL: tuple[Operator | AdaptiveOperator, ...] = (
    Corp(),
    CorpPaperCode(),
    RewardMean(),
    EliteMean(),
    Top1(),
    TopR(),
    Ties(),
    Dare(),
    RandomMean(),
    Es(),
    Response(),
    Greedy(),
)
OPERATORS: Mapping[str, Operator | AdaptiveOperator] = MappingProxyType({entry.name: entry for entry in _ALL})


def operator(name: str) -> Operator | AdaptiveOperator:
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
