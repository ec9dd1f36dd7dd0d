import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from population.direction import Law
from population.errors import PopulationInvalid
from population.noise import perturb
from population.proposal import BASE, isotropic, null_candidate

SIGMAS = [5e-4, 1e-3, 2e-3]


@settings(deadline=None)
@given(size=st.integers(2, 200), count=st.integers(1, 7), prefix=st.integers(0, 200))
def test_every_prefix_has_balanced_shares_of_the_sigmas(size, count, prefix):
    sigmas = [1e-3 * (i + 1) for i in range(min(count, size))]
    shares = Counter(c.sigma for c in isotropic(size, sigmas, 0, Law())[:prefix])
    counts = [shares[sigma] for sigma in sigmas]
    assert max(counts) - min(counts) <= 1
    assert sum(counts) == min(size, prefix)


def test_candidates_have_distinct_keys_and_seeds_and_one_component_of_their_sigma():
    population = isotropic(500, SIGMAS, 7, Law())
    assert [c.key for c in population[:2]] == ["c00000", "c00001"]
    assert len({c.key for c in population}) == 500
    assert len({c.direction.components[0].seed for c in population}) == 500
    for candidate in population:
        ((component,),) = (candidate.direction.components,)
        assert component.amplitude == candidate.sigma == candidate.direction.norm()


def test_a_larger_population_starts_with_the_smaller_one():
    assert isotropic(60, SIGMAS, 7, Law())[:24] == isotropic(24, SIGMAS, 7, Law())


def test_populations_of_different_seeds_share_no_seed():
    seeds = [c.direction.components[0].seed for s in range(5) for c in isotropic(200, SIGMAS, s, Law())]
    assert len(set(seeds)) == 1000


def test_population_seeds_spread_over_64_bits():
    seeds = np.array([c.direction.components[0].seed for c in isotropic(400, SIGMAS, 0, Law())], float)
    assert abs(seeds.mean() / 2**64 - 0.5) < 5 * math.sqrt(1 / 12 / 400)


def test_population_is_pinned_to_published_seeds():
    """A resumed or repeated run depends on these values for ever."""
    seeds = [c.direction.components[0].seed for c in isotropic(2, [1e-3], 42, Law())]
    assert seeds == [3672536454754740282, 9813924183210310235]


def test_base_has_no_direction_and_null_moves_nothing():
    assert (BASE.key, BASE.direction, BASE.sigma) == ("base", None, 0.0)
    null = null_candidate(Law())
    assert (null.key, null.sigma, null.direction.norm()) == ("null", 0.0, 0.0)
    weights = np.linspace(-1, 1, 1001, dtype=np.float32)
    out = np.empty_like(weights)
    perturb(out, weights, Law(), "w", (1001,), null.direction.components, storage="float32")
    np.testing.assert_array_equal(out, weights)


@pytest.mark.parametrize(
    ("size", "sigmas", "seed"),
    [
        (1, [1e-3], 0),
        (0, [1e-3], 0),
        (-4, [1e-3], 0),
        (2.0, [1e-3], 0),
        (True, [1e-3], 0),
        (8, [], 0),
        (8, [0.0], 0),
        (8, [1e-3, -1e-3], 0),
        (8, [math.nan], 0),
        (8, [math.inf], 0),
        (2, SIGMAS, 0),
        (8, [1e-3, 1e-3], 0),
        (8, [1e-3], 0.5),
    ],
)
def test_populations_that_cannot_be_sampled_are_refused(size, sigmas, seed):
    with pytest.raises(PopulationInvalid):
        isotropic(size, sigmas, seed, Law())
