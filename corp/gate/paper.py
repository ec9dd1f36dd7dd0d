"""The released acceptance rule, for comparison: better by more than one standard error."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from corp.errors import GateInvalid
from corp.gate.decision import Decision

Z = 1.0
LEVEL = 2 * (1 - NormalDist().cdf(Z))
"""Two-sided level of one standard error, 0.317: one in six candidates that are no better is accepted."""


def decide(base: npt.NDArray[np.floating], candidate: npt.NDArray[np.floating]) -> Decision:
    """Accept if mean - z * se > 0 with z = 1, se the standard error of the paired differences.

    Source: the lower confidence bound of CoRP's public code (arXiv 2605.31494). It counts no looks: over
        several proposals and rounds its false-accept rate grows to 0.16 to 0.36 per round.

    Args:
        base: values or outcomes per prompt, shape (n,), n >= 2.
        candidate: the same prompts in the same order.

    Raises:
        GateInvalid: fewer than two prompts, or not the same number.
    """
    if len(base) != len(candidate) or len(base) < 2:
        raise GateInvalid(f"base has {len(base)} prompts, the candidate {len(candidate)}; at least two each")
    differences = np.asarray(candidate, np.float64) - np.asarray(base, np.float64)
    n, gain = len(differences), float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    low, high = gain - Z * error, gain + Z * error
    verdict = "Accepted" if low > 0 else "Abstained"
    return Decision(
        accepted=low > 0,
        gain=gain,
        interval=(low, high),
        p_value=_p_value(gain, error),
        level=LEVEL,
        fixes=int(np.sum(differences > 0)),
        regressions=int(np.sum(differences < 0)),
        n=n,
        base=float(np.mean(base)),
        candidate=float(np.mean(candidate)),
        reason=f"{verdict} by the paper's rule: gain {gain:+.4f}, one standard error below it {low:+.4f}.",
    )


def _p_value(gain: float, error: float) -> float:
    """Two-sided, of the normal approximation that the rule rests on."""
    if error == 0:
        return float(gain == 0)
    return 2 * (1 - NormalDist().cdf(abs(gain) / error))
