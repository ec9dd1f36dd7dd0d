from __future__ import annotations

import itertools
from math import comb, perm

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from verify.numbering import arrangement, multiset, permutation


@given(st.integers(1, 300), st.integers(0, 2**63 - 1))
def test_a_permutation_visits_every_number_once(size: int, seed: int) -> None:
    assert sorted(permutation(size, seed)) == list(range(size))


def test_a_permutation_of_a_huge_range_starts_at_once() -> None:
    first = list(itertools.islice(permutation(10**17, 3), 100))
    assert len(set(first)) == 100
    assert max(first) < 10**17


def test_seeds_give_unrelated_orders() -> None:
    # Position of number 0 among 8, and the pair of numbers that come first, over seeds.
    orders = [list(permutation(8, seed)) for seed in range(4000)]
    for position in range(8):
        counts = [0] * 8
        for order in orders:
            counts[order[position]] += 1
        assert chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize(("among", "count"), [(5, 1), (5, 2), (5, 3), (5, 5), (9, 2)])
def test_arrangements_are_all_of_them_once(among: int, count: int) -> None:
    found = [tuple(arrangement(number, among, count)) for number in range(perm(among, count))]
    assert sorted(found) == sorted(itertools.permutations(range(among), count))


@pytest.mark.parametrize(("among", "count"), [(5, 1), (5, 2), (4, 3), (3, 6)])
def test_multisets_are_all_of_them_once_in_order(among: int, count: int) -> None:
    found = [tuple(multiset(number, among, count)) for number in range(comb(among + count - 1, count))]
    assert found == list(itertools.combinations_with_replacement(range(among), count))
