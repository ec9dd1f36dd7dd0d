"""Sortable identifiers: ``job_`` and 26 characters of Crockford base 32 (the ULID layout)."""

from __future__ import annotations

import secrets

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def fresh(prefix: str, wall: float) -> str:
    """A new identifier that sorts by time.

    Args:
        prefix: ``job``, ``wrk``, ….
        wall: Unix seconds; the first ten characters are its milliseconds, the other sixteen are random.
    """
    number = (int(wall * 1000) << 80) | secrets.randbits(80)
    digits = (ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
    return f"{prefix}_{''.join(digits)}"


def sibling(identifier: str, prefix: str) -> str:
    """The same identifier under another prefix: ``job_x`` and its checkpoint ``ckp_x``."""
    return f"{prefix}_{identifier.partition('_')[2]}"
