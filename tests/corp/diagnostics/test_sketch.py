"""The sketch holds the members' real noise."""

from __future__ import annotations

import numpy as np
import pytest

from corp.diagnostics.sketch import sketch
from population.direction import Law
from population.errors import DirectionInvalid
from population.noise import gaussian, perturb
from tests.corp.diagnostics.planted import TENSORS, WEIGHTS, independent, sharing


def test_a_sketch_of_every_weight_is_the_noise_contract_times_the_amplitudes() -> None:
    scores = sharing(5, 0, dimensions=2, drift=0.0, rewarded=False)
    expected = np.zeros((5, WEIGHTS))
    for row, member in zip(expected, scores.perturbations, strict=True):
        for seed, amplitude in member.coefficients().items():
            parts = [gaussian(seed, name, 0, info.size) for name, info in TENSORS.items()]
            row += amplitude * np.concatenate(parts)
    np.testing.assert_allclose(sketch(scores, TENSORS, coordinates=WEIGHTS), expected, atol=1e-8)


def test_low_rank_noise_and_scales_are_in_the_sketch() -> None:
    law = Law("lowrank", 2, scale=dict.fromkeys(TENSORS, 3.0))
    scores = independent(4, 1, law)
    expected = np.zeros((4, WEIGHTS), np.float32)
    for row, member in zip(expected, scores.perturbations, strict=True):
        start = 0
        for name, info in TENSORS.items():
            part = row[start : start + info.size]
            perturb(part, np.zeros_like(part), law, name, info.shape, member.components, storage="float32")
            start += info.size
    np.testing.assert_allclose(sketch(scores, TENSORS, coordinates=WEIGHTS), expected, rtol=1e-5, atol=1e-8)


def test_a_scope_that_selects_one_tensor_samples_only_that() -> None:
    scores = independent(3, 2, Law(scope=("model.norm.*",)))
    found = sketch(scores, TENSORS, coordinates=WEIGHTS)
    assert found.shape == (3, 96)
    with pytest.raises(DirectionInvalid, match="selects none"):
        sketch(independent(3, 2, Law(scope=("nothing",))), TENSORS)


def test_sampled_weights_are_distinct_and_about_as_many_as_asked_for() -> None:
    found = sketch(independent(40, 3), TENSORS, coordinates=1024)
    assert 900 <= found.shape[1] <= 1024
    assert np.unique(found, axis=1).shape == found.shape


def test_the_same_seed_samples_the_same_weights() -> None:
    scores = independent(3, 4)
    np.testing.assert_array_equal(
        sketch(scores, TENSORS, coordinates=512, seed=9), sketch(scores, TENSORS, coordinates=512, seed=9)
    )
    assert not np.array_equal(
        sketch(scores, TENSORS, coordinates=512, seed=9), sketch(scores, TENSORS, coordinates=512, seed=8)
    )
