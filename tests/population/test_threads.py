import threading
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from population.threads import PIECE, spread


@settings(deadline=None)
@given(size=st.integers(0, 6 * PIECE), threads=st.integers(1, 9), unit=st.sampled_from([1, 8, 2048]))
def test_ranges_tile_the_whole_once_and_are_cut_at_units(size, threads, unit):
    seen = []
    spread(lambda begin, end: seen.append((begin, end)), size, threads, unit)
    seen.sort()
    assert len(seen) <= threads
    assert seen[0][0] == 0
    assert seen[-1][1] == size
    assert all(a[1] == b[0] and b[0] % unit == 0 for a, b in pairwise(seen))


def test_large_work_uses_every_thread_and_small_work_only_the_callers():
    def run(size: int) -> set[int]:
        names, barrier = set(), threading.Barrier(3 if size >= 3 * PIECE else 1)

        def work(begin: int, end: int) -> None:
            barrier.wait(timeout=10)
            names.add(threading.get_ident())

        spread(work, size, 3)
        return names

    assert len(run(3 * PIECE)) == 3
    assert run(PIECE) == {threading.get_ident()}


def test_an_error_in_any_range_reaches_the_caller():
    def work(begin: int, end: int) -> None:
        if end == 2 * PIECE:
            raise ValueError("second half")

    with pytest.raises(ValueError, match="second half"):
        spread(work, 2 * PIECE, 2)
