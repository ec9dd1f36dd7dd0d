from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from population.engines.decode import groups


@given(st.lists(st.integers(1, 60), min_size=1, max_size=50), st.integers(1, 200))
def test_groups_tile_the_rows_and_stay_within_the_limit(lengths: list[int], tokens: int) -> None:
    lengths.sort()
    parts = list(groups(lengths, tokens))
    assert [at for part in parts for at in range(part.start, part.stop)] == list(range(len(lengths)))
    for part in parts:
        rows = part.stop - part.start
        assert rows == 1 or rows * lengths[part.stop - 1] <= tokens
        if part.stop < len(lengths):
            assert (rows + 1) * lengths[part.stop] > tokens  # no group could have taken one row more
