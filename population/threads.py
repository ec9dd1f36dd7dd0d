"""Work on ranges of one array, spread over threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

PIECE = 1 << 18
"""Fewer values than this per thread (200 µs of noise) do not pay for starting one (50 to 100 µs)."""


def spread(work: Callable[[int, int], None], size: int, threads: int, unit: int = 2048) -> None:
    """Call ``work(begin, end)`` on ranges that tile 0 … size, cut at multiples of ``unit``: one a thread."""
    pieces = max(1, min(threads, size // PIECE))
    if pieces == 1:
        work(0, size)
        return
    bounds = [size * i // pieces // unit * unit for i in range(pieces)] + [size]
    with ThreadPoolExecutor(pieces - 1) as pool:
        others = [pool.submit(work, bounds[i], bounds[i + 1]) for i in range(1, pieces)]
        work(bounds[0], bounds[1])
        for other in others:
            other.result()
