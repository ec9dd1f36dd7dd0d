"""The level of each look, where the gate split is looked at more than once."""

from __future__ import annotations

from corp.errors import GateInvalid


def level(alpha: float, round: int, rounds: int) -> float:
    """Share of `alpha` for one of `rounds` planned rounds of recentering: alpha / (rounds + 1).

    The shares are equal, and the final decision has one of its own, so that all together spend at most
    alpha. Equal shares suit few rounds of which none is expected to matter most; which round it is does
    not change its share, but has to be a planned one. A share that a search did not come to use goes to the
    final decision.

    Splitting alpha bounds the chance of any false accept for looks fixed in advance. Here a later round's
    candidates depend on whether earlier ones were accepted, which the same prompts decided. That is a few
    bits; a test accepts on one side only and so uses half of its level. With one proposal per look, r rounds
    lead to 2^r different final decisions of level alpha / (2 (r + 1)) each: even if every one of them could
    be wrong on its own, together they stay within alpha up to three rounds.

    Args:
        alpha: level of the whole job, in (0, 1).
        round: 1 to `rounds`.
        rounds: planned rounds, at least 1.

    Raises:
        GateInvalid: a round that is not planned, or a level outside (0, 1).
    """
    if not 1 <= round <= rounds:
        raise GateInvalid(f"round {round} is none of the {rounds} planned ones")
    if not 0 < alpha < 1:
        raise GateInvalid(f"alpha = {alpha} is not a level in (0, 1)")
    return alpha / (rounds + 1)
