from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from population.direction import Component, Direction, Law
from population.errors import DirectionInvalid
from population.merge import Merge
from population.noise import gaussian, perturb
from population.sums import TensorSum, rms
from tests.population.merge_reference import merged_sum, merged_weights

COMPONENTS = (Component(3, 0.02), Component(2**64 - 1, -0.01), Component(17, 0.005), Component(9, 0.01))
WEIGHTS = (0.4, 0.3, 0.2, 0.1)
LAWS = [Law(), Law("lowrank", 3), Law(scheme="tied"), Law(scale={"w": 0.3})]
MERGES = [
    Merge("ties", 0.2, WEIGHTS, sign_weighting="paper"),
    Merge("ties", 0.2, WEIGHTS, sign_weighting="mergekit"),
    Merge("ties", 0.7, (1.0, 0.0, 2.0, 3.0), sign_weighting="paper", normalize=False),
    Merge("ties", 1.0, WEIGHTS, sign_weighting="paper"),
    Merge("dare", 0.2, WEIGHTS, rescale="l1"),
    Merge("dare", 0.2, (1.0, 0.0, 2.0, 3.0), rescale="inverse", normalize=False),
    Merge("dare", 0.6, WEIGHTS, rescale="none"),
    Merge("dare", 1.0, WEIGHTS, rescale="l1"),
]
SHAPE = (301, 129)
TIES, DARE = (Direction(COMPONENTS, Law(), 0.75, MERGES[i]) for i in (0, 4))


def summed(direction: Direction, shape: tuple[int, ...] = SHAPE, **options) -> np.ndarray:
    sums = np.empty(math.prod(shape), np.float32)
    TensorSum(direction, "w", shape, **options).fill(sums)
    return sums


@pytest.mark.parametrize("merge", MERGES, ids=str)
@pytest.mark.parametrize("law", LAWS, ids=["full", "lowrank", "tied", "scaled"])
@pytest.mark.parametrize("shape", [SHAPE, (129,), (1,)])
def test_merged_sums_equal_the_definition(merge, law, shape):
    direction = Direction(COMPONENTS, law, 0.75, merge)
    found = summed(direction, shape)
    np.testing.assert_array_equal(found, merged_sum(direction, "w", shape))
    exact = merged_sum(direction, "w", shape, exact=True)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 * np.abs(exact).max())


def test_a_merge_of_six_numbers_by_hand():
    """z of three seeds on six elements; density 0.5 keeps three of each; weights 1, 2, 3."""
    z = np.stack([gaussian(seed, "w", 0, 6) for seed in (1, 2, 3)]).astype(np.float64)
    trimmed = np.where(np.abs(z) >= np.sort(np.abs(z))[:, 3:4], z, 0.0)
    assert (trimmed != 0).sum(axis=1).tolist() == [3, 3, 3]
    for weighting in ("paper", "mergekit"):
        expected = np.zeros(6)
        for i in range(6):
            vote = sum(trimmed[k, i] * (k + 1 if weighting == "mergekit" else 1) for k in range(3))
            side = [k for k in range(3) if trimmed[k, i] and (trimmed[k, i] > 0) == (vote >= 0)]
            if side:
                expected[i] = sum(trimmed[k, i] * (k + 1) for k in side) / sum(k + 1 for k in side)
        merge = Merge("ties", 0.5, (1.0, 2.0, 3.0), sign_weighting=weighting)
        direction = Direction(tuple(Component(seed, 1.0) for seed in (1, 2, 3)), Law(), 1.0, merge)
        np.testing.assert_allclose(summed(direction, (6,)), expected, rtol=1e-6)


@pytest.mark.parametrize("direction", [TIES, DARE, replace(TIES, merge=None)], ids=["ties", "dare", "linear"])
def test_any_range_of_a_sum_is_that_slice_of_the_whole(direction):
    whole, part = summed(direction), TensorSum(direction, "w", SHAPE)
    for start, count in ((0, 1), (1, 16_384), (16_383, 3), (20_000, 18_829), (38_828, 1)):
        sums = np.full(count, 7.0, np.float32)
        part.fill(sums, start)
        np.testing.assert_array_equal(sums, whole[start : start + count])


@pytest.mark.parametrize("storage", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("direction", [TIES, DARE], ids=["ties", "dare"])
@pytest.mark.parametrize(("threads", "chunk"), [(1, None), (3, None), (1, 1000), (2, 20_000)])
def test_weights_are_the_references_whatever_the_chunks_and_threads(
    monkeypatch, storage, direction, threads, chunk
):
    import torch

    from population import threads as spreading

    monkeypatch.setattr(spreading, "PIECE", 4096)
    base = (torch.randn(SHAPE, generator=torch.Generator().manual_seed(1)) * 0.05).to(getattr(torch, storage))
    expected, out = merged_weights(base, direction, "w", storage), torch.empty_like(base).view(-1)
    total, size = TensorSum(direction, "w", SHAPE, threads=threads), base.numel()
    for at in range(0, size, chunk or size):
        to = min(size, at + (chunk or size))
        total.realise(out[at:to], base.view(-1)[at:to], storage=storage, start=at)
    assert torch.equal(out.view(torch.uint8), expected.view(-1).view(torch.uint8))
    assert not torch.equal(out, base.view(-1))


def test_a_linear_direction_is_what_perturb_makes():
    base = np.linspace(-1, 1, math.prod(SHAPE), dtype=np.float32)
    linear = Direction(COMPONENTS, Law(), 0.75)
    one, other = np.empty_like(base), np.empty_like(base)
    perturb(one, base, linear.law, "w", SHAPE, COMPONENTS, 0.75, storage="float32")
    TensorSum(linear, "w", SHAPE).realise(other, base, storage="float32")
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, base + np.float32(0.75) * summed(linear))


def test_elements_that_the_tensor_lacks_are_refused():
    for direction in (TIES, DARE, replace(TIES, merge=None)):
        total = TensorSum(direction, "w", (10,))
        for start, count in ((5, 6), (-1, 3), (11, 0)):
            with pytest.raises(DirectionInvalid, match="has 10 elements"):
                total.fill(np.empty(count, np.float32), start)


def test_amplitudes_and_scales_that_float32_cannot_hold_are_refused():
    for direction in (TIES, DARE):
        with pytest.raises(DirectionInvalid, match="no entry for w"):
            TensorSum(replace(direction, law=Law(scale={"v": 1.0})), "w", SHAPE)
        with pytest.raises(DirectionInvalid, match="finite float32"):
            TensorSum(replace(direction, components=(Component(1, 3e38), *COMPONENTS[1:]),
                              law=Law(scale=10.0)), "w", SHAPE)  # fmt: skip
    heavy = Merge("dare", 1 / 65536, (3e38, 1.0, 1.0, 1.0), rescale="inverse", normalize=False)
    with pytest.raises(DirectionInvalid, match="after DARE"):
        TensorSum(Direction(COMPONENTS, Law(), 1.0, heavy), "w", SHAPE)


def test_shared_statistics_are_measured_once():
    other = replace(
        TIES, components=tuple(reversed(COMPONENTS[:2])), merge=replace(MERGES[0], weights=(1.0, 2.0))
    )
    known: dict = {}
    first = TensorSum(TIES, "w", SHAPE, known=known)
    second = TensorSum(other, "w", SHAPE, known=known)
    assert first.drawn == 2 * 4 * math.prod(SHAPE)
    assert second.drawn == 0
    sums = np.empty(math.prod(SHAPE), np.float32)
    assert second.fill(sums) == 2 * math.prod(SHAPE)
    np.testing.assert_array_equal(sums, summed(other))


def test_dare_is_unbiased():
    """Regressing the sum on each member gives back its weight times its amplitude."""
    size = 1_000_000
    for rescale in ("inverse", "l1"):
        merge = Merge("dare", 0.25, (1.0, 2.0), rescale=rescale, normalize=False)
        direction = Direction((Component(1, 0.5), Component(2, -1.0)), Law(), 1.0, merge)
        sums = summed(direction, (size,)).astype(np.float64)
        for seed, expected in ((1, 0.5), (2, -2.0)):
            z = gaussian(seed, "w", 0, size).astype(np.float64)
            assert np.vdot(sums, z) / np.vdot(z, z) == pytest.approx(expected, abs=5 * 5 / math.sqrt(size))


def test_rms_of_one_trimmed_member_is_that_of_a_two_sided_tail():
    for density in (0.1, 0.2, 0.7, 1.0):
        edge = norm.isf(density / 2)
        tail = density if edge == 0 else 2 * (edge * norm.pdf(edge) + norm.sf(edge))
        merge = Merge("ties", density, (0.3,), sign_weighting="paper")
        found = rms(Direction((Component(5, 2e-3),), Law(), -3.0, merge))
        assert found == pytest.approx(3 * 2e-3 * math.sqrt(tail), rel=0.015)


@pytest.mark.parametrize("merge", MERGES, ids=str)
def test_rms_is_what_a_tensor_moves_by(merge):
    direction = Direction(COMPONENTS, Law(scale=7.0), 0.5, merge)
    moved = 0.5 * summed(replace(direction, law=Law()), (1000, 1000)).astype(np.float64)
    assert rms(direction) == pytest.approx(math.sqrt(np.mean(moved**2)), rel=0.02)


def test_rms_of_a_linear_direction_is_its_norm():
    assert rms(replace(TIES, merge=None)) == replace(TIES, merge=None).norm()
