"""What the noise contract fixes: the generator's constants, a tensor's key and the table of normal quantiles.

Philox4x32-10: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Random123).
"""

from __future__ import annotations

import functools
import hashlib

import numpy as np
from numpy.typing import NDArray

from population.errors import EngineMismatch

VERSION = 1
"""Version of the noise contract; it changes whenever one bit of noise would."""

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
TABLE_SHA256 = "8babbcaf96568f10165a1eab530c0e5c92d04de96761b6dbb3dadfa94baba37f"

FULL, LEFT, RIGHT, MASK = 0, 1, 2, 3
"""Streams of one tensor's noise: full rank; the factors A (out × r) and B (in × r) of low rank; what DARE
draws its masks from."""


def key(seed: int, name: str) -> tuple[int, int]:
    """The two 32-bit key words of tensor ``name`` under ``seed``."""
    digest = hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


@functools.cache
def table() -> NDArray[np.float32]:
    """Read-only (65536,) float32: element u is the normal quantile of (u + 0.5) / 65536, at unit variance.

    Raises:
        EngineMismatch: this platform's arithmetic gives other bits, so its noise would be other noise.
    """
    from scipy.special import ndtri

    quantiles = ndtri((np.arange(65536, dtype=np.float64) + 0.5) / 65536)
    values: NDArray[np.float32] = (quantiles / np.sqrt(np.mean(quantiles**2))).astype(np.float32)
    digest = hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()
    if digest != TABLE_SHA256:
        raise EngineMismatch(
            f"noise version {VERSION} needs a table with SHA-256 {TABLE_SHA256}; here it has {digest}",
            hint="scipy or numpy of this environment computes other values; install the pinned versions",
        )
    values.flags.writeable = False
    return values
