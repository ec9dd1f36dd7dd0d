from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from population import philox
from population.direction import Law
from population.merging import Trim, l1_ratio, trim
from population.noise import Member, gaussian
from tests.population.merge_reference import kept_by_dare, kept_by_ties


def kept(values: np.ndarray, found: Trim) -> np.ndarray:
    """What a trim keeps, by the words of its definition."""
    bits, at = np.abs(values).view(np.uint32).astype(np.int64), np.arange(values.size)
    return (bits > found.threshold) | ((bits == found.threshold) & (at <= found.last))


@settings(max_examples=40)
@given(st.integers(1, 70_000), st.floats(0.0, 1.0), st.integers(0, 2**64 - 1))
def test_trim_keeps_the_largest_and_of_equals_the_first(size, share, seed):
    keep = min(size, max(1, int(share * size)))
    values = gaussian(seed, "w", 0, size)
    found = trim(Member(Law(), "w", (size,), seed), size, keep)
    expected = np.zeros(size, bool)
    expected[sorted(range(size), key=lambda i: (-abs(values[i]), i))[:keep]] = True
    np.testing.assert_array_equal(kept(values, found), expected)


@pytest.mark.parametrize("law", [Law(), Law("lowrank", 1), Law("lowrank", 5)])
@pytest.mark.parametrize("density", [1e-4, 0.2, 0.5, 0.999, 1.0])
def test_trim_of_a_matrix_equals_sorting_it(law, density):
    shape = (700, 300)
    member, size = Member(law, "w", shape, 7), 210_000
    values = np.concatenate(
        [
            member.values(at, min(9999, size - at), np.empty(9999 + 16, np.float32)).copy()
            for at in range(0, size, 9999)
        ]
    )
    found = trim(member, size, max(1, int(density * size)))
    np.testing.assert_array_equal(kept(values, found), kept_by_ties(values, density))


def test_equal_magnitudes_at_the_threshold_are_many_and_cut_by_their_place():
    """There are 32,768 magnitudes, so at a million elements each occurs about thirty times."""
    size = 1_000_000
    values = gaussian(5, "w", 0, size)
    found = trim(Member(Law(), "w", (size,), 5), size, 200_000)
    equal = np.flatnonzero(np.abs(values).view(np.uint32) == found.threshold)
    assert 10 < equal.size < 80
    assert found.last in equal
    assert kept(values, found).sum() == 200_000


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_statistics_do_not_depend_on_threads(monkeypatch, threads):
    from population import threads as spreading

    size, limit = 200_003, np.float32(-0.3)
    member = Member(Law(), "w", (size,), 11)
    one = trim(member, size, 40_000), l1_ratio(member, size, limit)
    monkeypatch.setattr(spreading, "PIECE", 10_000)
    assert (trim(member, size, 40_000, threads), l1_ratio(member, size, limit, threads)) == one


@pytest.mark.parametrize("density", [1 / 65536, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("law", [Law(), Law("lowrank", 2)])
def test_the_l1_ratio_is_that_of_whole_arrays(density, law):
    shape, size, level = (331, 257), 331 * 257, round(density * 65536)
    member = Member(law, "w", shape, 3)
    values = member.values(0, size, np.empty(size + 16, np.float32)).astype(np.float64)
    mask = kept_by_dare(3, "w", size, density) if level < 65536 else np.ones(size, bool)
    limit = philox.table()[level] if level < 65536 else np.float32(np.inf)
    expected = math.fsum(np.abs(values)) / math.fsum(np.abs(values[mask])) if mask.any() else 1.0
    assert l1_ratio(member, size, limit) == pytest.approx(expected, rel=1e-13)


def test_masks_keep_their_share_and_are_independent_of_noise_seeds_and_tensors():
    size, limit = 400_000, philox.table()[round(0.3 * 65536)]
    masks = {}
    for seed, name in ((1, "a"), (2, "a"), (1, "b")):
        member = Member(Law(), name, (size,), seed)
        drawn = member.mask(0, size, np.empty(size + 16, np.float32)) < limit
        masks[seed, name] = drawn - 0.3
        deviation = math.sqrt(0.3 * 0.7 / size)
        assert abs(drawn.mean() - 0.3) < 5 * deviation
        values = gaussian(seed, name, 0, size)
        for moment in (values, np.abs(values) - np.abs(values).mean()):
            assert abs(np.mean(masks[seed, name] * moment)) < 5 * deviation
    pairs = [((1, "a"), (2, "a")), ((1, "a"), (1, "b")), ((2, "a"), (1, "b"))]
    for one, other in pairs:
        assert abs(np.mean(masks[one] * masks[other])) < 5 * 0.21 / math.sqrt(size)


def test_a_mask_is_addressable_to_the_element():
    member = Member(Law(), "w", (1000,), 4)
    whole = member.mask(0, 1000, np.empty(1016, np.float32)).copy()
    for start, count in ((0, 1), (7, 9), (8, 8), (13, 400), (999, 1)):
        part = member.mask(start, count, np.empty(count + 16, np.float32))
        np.testing.assert_array_equal(part, whole[start : start + count])


def test_trimming_takes_a_few_blocks_of_memory():
    """Measured on noise of 32 MB; the edge's bin is 0.2 to 0.4 % of it."""
    import tracemalloc

    size = 8_000_000
    member = Member(Law(), "w", (size,), 1)
    trim(member, 1000, 100)  # compiles
    tracemalloc.start()
    trim(member, size, size // 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6
