"""Majority votes over extracted answers (RandOpt, arXiv 2603.12228; self-consistency, arXiv 2203.11171)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from population.table import Table
    from verify.verdict import Item, Verifier

Answers = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Election:
    """The outcome for one prompt.

    Attributes:
        winner: index of the member whose completion is taken: the best-ranked of those that gave the answer.
        answer: the winning answer, None where every member abstained.
        votes: members that gave it.
        cast: members that gave any answer.
    """

    winner: int
    answer: str | None
    votes: int
    cast: int


def elect(answers: Answers) -> Election:
    """The answer that most members give; of equals the one whose first supporter is ranked best.

    Abstentions do not count. Where all abstain, the best-ranked member's completion is taken.

    Args:
        answers: one per member, best-ranked member first; None abstains.

    Raises:
        ValueError: no member at all.
    """
    if not answers:
        raise ValueError("an election without members")
    first: dict[str, int] = {}
    votes: dict[str, int] = {}
    for member, answer in enumerate(answers):
        if answer is not None:
            first.setdefault(answer, member)
            votes[answer] = votes.get(answer, 0) + 1
    if not votes:
        return Election(0, None, 0, 0)
    won = max(votes, key=votes.__getitem__)  # of equals the first inserted, whose supporter ranks best
    return Election(first[won], won, votes[won], sum(votes.values()))


def ballots(
    verifier: Verifier, items: Sequence[Item], texts: Sequence[Sequence[str]]
) -> list[list[str | None]]:
    """What each member answers to each prompt.

    Args:
        texts: completions of K members, best-ranked first, to the M items; shape (K, M).

    Returns:
        Per prompt the members' answers, shape (M, K).

    Raises:
        ValueError: a member without exactly one completion per item.
    """
    if any(len(row) != len(items) for row in texts):
        raise ValueError("every member answers every prompt once")
    found = []
    for item, completions in zip(items, zip(*texts, strict=True), strict=True):
        known = {text: verifier.answer(item, text) for text in set(completions)}  # members often agree
        found.append([known[text] for text in completions])
    return found


def outcome(
    table: Table, elections: Sequence[Election]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Success and validity of the winning completions, each of shape (M,).

    Args:
        table: scores of the members, in the order of their ranks, on the prompts of the elections.
    """
    import numpy as np

    winners = np.array([election.winner for election in elections], np.intp)
    prompts = np.arange(len(winners))
    return table.success[winners, prompts], table.valid[winners, prompts]
