"""What a result is compared with on the test split, apart from scoring it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from corp.gate import decide
from population.direction import Component, Direction
from population.proposal import Candidate, candidate_seed

if TYPE_CHECKING:
    from verify.verdict import Item, Verifier

MOST_LABELS = 20

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Outcomes(NamedTuple):
    """Whether each of M prompts was passed, and whether that could be judged; each of shape (M,)."""

    success: Flags
    valid: Flags


def row(
    name: str,
    base: Outcomes,
    found: Outcomes,
    **cost: float,
) -> dict[str, Any] | None:
    """One line of the table, on the prompts where both verdicts are valid; None where there is no such.

    Args:
        base, found: what each prompt came to.
        cost: passes (completions per prompt) and tokens (produced per prompt).

    Returns:
        score and base, shares passed; difference with a 95 % interval (`corp.gate.decide`), fixes and
        regressions, n, and the cost.
    """
    both = base.valid & found.valid
    if not both.any():
        return None
    decision = decide(base.success[both], found.success[both])
    return {
        "name": name,
        "n": decision.n,
        "score": decision.candidate,
        "base": decision.base,
        "difference": decision.gain,
        "interval": list(decision.interval),
        "p_value": decision.p_value,
        "fixes": decision.fixes,
        "regressions": decision.regressions,
        **cost,
    }


def ranking(rewards: Sequence[float], k: int) -> list[int]:
    """Indices of the k highest rewards, best first, the earlier of equals first."""
    return sorted(range(len(rewards)), key=lambda index: (-rewards[index], index))[:k]


def random_merge(
    chosen: Candidate, population: Sequence[Candidate], population_seed: int, number: int
) -> Candidate:
    """The chosen direction with its amplitudes dealt to random members, at the same length.

    What this gains is what any step of that length gains; only the rest is the search's. A direction with
    more components than the population has members takes seeds that the population would have had next.

    Args:
        number: of the deal; another one, another merge.
    """
    direction = chosen.direction
    assert direction is not None
    known = [c.direction.components[0].seed for c in population if c.direction is not None]
    taken = set(known)  # indices beyond their number too, where the search dropped outliers
    more = (candidate_seed(population_seed, index) for index in count(len(known)))
    fresh = (seed for seed in more if seed not in taken)
    pool = [*known, *islice(fresh, max(0, len(direction.components) - len(known)))]
    shuffled = sorted(pool, key=lambda seed: hashlib.blake2b(f"deal\0{number}\0{seed}".encode()).digest())
    dealt = dict(zip(shuffled, (c.amplitude for c in direction.components), strict=False))
    # In the order of the population, which the merges of one sweep share.
    plain = Direction(tuple(Component(seed, dealt[seed]) for seed in pool if seed in dealt), direction.law)
    length = chosen.sigma if direction.merge is not None else direction.norm()
    merged = replace(plain, step=length / plain.norm())
    return Candidate(f"random{number}-{merged.digest()[:12]}", merged, length)


def closed_labels(verifier: Verifier, items: Sequence[Item]) -> tuple[list[str], str]:
    """The answers of a task that has few, sorted; or none, and why."""
    labels = {_oracle(verifier, item) for item in items}
    if None in labels or "" in labels:
        return [], "the rows do not all hold an answer"
    if len(labels) > MOST_LABELS:
        return [], f"{len(labels)} distinct answers on support; a closed task has at most {MOST_LABELS}"
    if len(labels) < 2 or 2 * len(labels) > len(items):
        return [], f"{len(labels)} distinct answers of {len(items)} rows on support are no set of labels"
    return sorted(label for label in labels if label is not None), ""


def _oracle(verifier: Verifier, item: Item) -> str | None:
    try:
        return verifier.oracle(item)
    except Exception:  # an item that no completion can answer
        return None


def calibrated(test: Values, support: Values) -> npt.NDArray[np.intp]:
    """The likeliest label of each prompt, once what makes a label likely everywhere is taken off.

    Source: as calibration before use (Zhao et al. 2021, arXiv 2102.09690), with the labels' mean
        log-likelihood over unlabelled prompts as the prior.

    Args:
        test: log-likelihood of L labels on M prompts, shape (L, M).
        support: the same on other prompts, shape (L, S).

    Returns:
        Indices of labels, shape (M,); of equals the first.
    """
    likeliest: npt.NDArray[np.intp] = np.argmax(test - support.mean(axis=1, keepdims=True), axis=0)
    return likeliest
