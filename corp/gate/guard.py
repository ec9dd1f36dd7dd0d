"""Guard tasks: the accepted model must not be worse than the base by more than a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from corp.errors import GuardInvalid
from corp.gate.paired import tango


@dataclass(frozen=True, slots=True)
class Guarded:
    """What one guard task found.

    Attributes:
        task: its name.
        held: the candidate is not worse: the lower bound of the change lies above minus the margin.
        change: success rate of the candidate minus the base's.
        bound: lower end of its interval at confidence 1 - level.
        margin: largest fall accepted.
        level: two-sided; the bound itself is passed by chance at half of it.
        fixes: prompts wrong with the base and right with the candidate.
        regressions: prompts right with the base and wrong with the candidate.
        n: prompts.
        base: share right with the base.
        candidate: share right with the candidate.
    """

    task: str
    held: bool
    change: float
    bound: float
    margin: float
    level: float
    fixes: int
    regressions: int
    n: int
    base: float
    candidate: float


def check(
    task: str,
    base: npt.NDArray[np.bool_],
    candidate: npt.NDArray[np.bool_],
    *,
    margin: float,
    level: float,
) -> Guarded:
    """Non-inferiority of paired outcomes, by the lower end of Tango's score interval.

    A candidate that is worse by the margin or more passes in at most about half of `level` of all searches.
    Failing to show that something got worse is not enough: with few prompts that would always hold.

    Args:
        base: right or wrong per prompt, shape (n,).
        candidate: the same prompts in the same order.
        margin: largest fall accepted, in (0, 1).
        level: two-sided level, in (0, 1).
    """
    fixes, regressions = int(np.sum(~base & candidate)), int(np.sum(base & ~candidate))
    n = len(base)
    bound = tango(fixes, regressions, n, level)[0]
    return Guarded(
        task=task,
        held=bound > -margin,
        change=(fixes - regressions) / n,
        bound=bound,
        margin=margin,
        level=level,
        fixes=fixes,
        regressions=regressions,
        n=n,
        base=float(base.mean()),
        candidate=float(candidate.mean()),
    )


def needed(margin: float, level: float) -> int:
    """Fewest prompts on which a candidate that answers like the base passes.

    Without discordant pairs Tango's lower bound is -z^2 / (n + z^2): for 1 point at 95 %, 381 prompts.
    """
    z2 = NormalDist().inv_cdf(1 - level / 2) ** 2
    return math.floor(z2 * (1 / margin - 1)) + 1


def require(task: str, n: int, margin: float, level: float) -> None:
    """Refuse a guard that nothing could pass.

    Raises:
        GuardInvalid: fewer prompts than an unchanged model needs.
    """
    least = needed(margin, level)
    if n < least:
        raise GuardInvalid(
            f"guard {task} has {n} gate prompts; to show a fall of at most {100 * margin:g} points even an"
            f" unchanged model needs {least}",
            hint="give it more gate prompts or a larger margin",
        )
