import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from population.direction import Component, Direction, Law, cosine, inner, project
from population.errors import DirectionInvalid
from population.noise import gaussian, perturb

AMPLITUDES = st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-9)
LAWS = st.sampled_from(
    [Law(), Law(scheme="tied"), Law("lowrank", 4), Law(scope=("*.mlp.*",)), Law(scale={"b": 2.0, "a": 0.1})]
)


@st.composite
def directions(draw, law=None):
    seeds = draw(st.lists(st.integers(0, 9) | st.integers(0, 2**64 - 1), min_size=1, max_size=6, unique=True))
    components = tuple(Component(seed, draw(AMPLITUDES)) for seed in seeds)
    return Direction(components, draw(LAWS) if law is None else law, draw(AMPLITUDES))


TRIPLES = st.tuples(*[directions(Law())] * 3)


def exact(a: Direction, b: Direction) -> Fraction:
    """⟨a, b⟩ in rational arithmetic, straight from the definition."""
    right = {c.seed: Fraction(b.step) * Fraction(c.amplitude) for c in b.components}
    left = [(c.seed, Fraction(a.step) * Fraction(c.amplitude)) for c in a.components]
    return sum((value * right.get(seed, Fraction(0)) for seed, value in left), Fraction(0))


def close(a: float, b: float, size: float) -> bool:
    return abs(a - b) <= 1e-12 * size + 1e-300


@settings(deadline=None)
@given(TRIPLES)
def test_inner_product_is_the_sum_over_shared_seeds(triple):
    a, b, _ = triple
    assert close(inner(a, b), float(exact(a, b)), a.norm() * b.norm())


@settings(deadline=None)
@given(TRIPLES, AMPLITUDES)
def test_inner_product_is_symmetric_and_bilinear(triple, factor):
    a, b, c = triple
    size = (a.norm() + b.norm()) * c.norm() * max(1.0, abs(factor))
    assert close(inner(a, c), inner(c, a), size)
    assert close(inner(a + b, c), inner(a, c) + inner(b, c), size)
    assert close(inner(a - b, c), inner(a, c) - inner(b, c), size)
    assert close(inner(a * factor, c), factor * inner(a, c), size)


@settings(deadline=None)
@given(TRIPLES)
def test_norm_does_not_depend_on_the_order_of_addition(triple):
    a, b, c = triple
    size = a.norm() + b.norm() + c.norm()
    assert close((a + b).norm(), (b + a).norm(), size)
    assert close(((a + b) + c).norm(), (a + (b + c)).norm(), size)
    assert (a + b).norm() <= (a.norm() + b.norm()) * (1 + 1e-12)


@settings(deadline=None)
@given(TRIPLES)
def test_a_projection_leaves_an_orthogonal_rest(triple):
    a, b, _ = triple
    assume(b.norm() > 1e-6)
    along = project(a, b)
    assert close(inner(a - along, b), 0.0, a.norm() * b.norm())
    assert close(along.norm(), abs(cosine(a, b)) * a.norm(), a.norm())


@settings(deadline=None)
@given(directions())
def test_difference_with_itself_is_zero_and_the_cosine_one(a):
    assert (a - a).norm() == 0
    assert (-a).norm() == a.norm()
    assert cosine(a, a) == pytest.approx(1.0 if a.norm() else 0.0)
    assert cosine(a, -a) == pytest.approx(-1.0 if a.norm() else 0.0)


@settings(deadline=None)
@given(directions())
def test_json_round_trip_is_exact(a):
    again = Direction.from_json(json.loads(json.dumps(a.to_json())))
    assert again == a
    assert again.digest() == a.digest()
    assert hash(again) == hash(a)


@settings(deadline=None)
@given(directions(Law()), directions(Law()))
def test_digests_tell_directions_apart(a, b):
    assert (a.digest() == b.digest()) == (a == b)


def test_digest_is_the_sha256_of_sorted_compact_json():
    import hashlib

    text = (
        '{"components":[[3,0.001]],"law":{"kind":"full","rank":null,"scale":1.0,'
        '"scheme":"independent","scope":"all","version":1},"step":2.0}'
    )
    direction = Direction((Component(3, 0.001),), Law(), 2)
    assert direction.digest() == hashlib.sha256(text.encode()).hexdigest()


def test_one_seed_with_two_sigmas_is_one_axis():
    a, b = (Direction((Component(5, sigma),), Law()) for sigma in (1e-3, 2e-3))
    assert cosine(a, b) == pytest.approx(1)
    assert (a + b).components == (Component(5, 3e-3),)


def test_sums_keep_the_order_of_first_appearance_and_fold_steps():
    a = Direction((Component(9, 1.0), Component(2, 2.0)), Law(), 0.5)
    b = Direction((Component(4, 1.0), Component(9, 1.0)), Law(), 2.0)
    total = a + b
    assert total.components == (Component(9, 2.5), Component(2, 1.0), Component(4, 2.0))
    assert total.step == 1.0


def test_scaling_changes_the_step_alone():
    a = Direction((Component(1, 0.25),), Law(), 2.0)
    assert 3 * a == a * 3 == Direction((Component(1, 0.25),), Law(), 6.0)


@settings(max_examples=25, deadline=None)
@given(directions(Law()), directions(Law()))
def test_realised_weights_follow_the_algebra(a, b):
    """In float64, base 0: weights of a + b are those of a plus those of b."""
    size = 500
    total = sum(v * gaussian(s, "w", 0, size).astype(float) for s, v in (a + b).coefficients().items())
    out, zero = np.empty(size, np.float32), np.zeros(size, np.float32)
    parts = []
    for direction in (a, b):
        perturb(out, zero, Law(), "w", (size,), direction.components, direction.step, storage="float32")
        parts.append(out.astype(float))
    bound = sum(abs(v) for d in (a, b) for v in d.coefficients().values())
    np.testing.assert_allclose(parts[0] + parts[1], total, rtol=0, atol=1e-5 * bound + 1e-30)


def test_inner_products_of_real_noise_agree_with_the_coefficients():
    size = 1 << 20
    a = Direction((Component(1, 1.0), Component(2, 2.0)), Law())
    b = Direction((Component(2, 1.0), Component(3, -1.0)), Law(), 0.5)
    realised = []
    for direction in (a, b):
        out = np.empty(size, np.float32)
        zero = np.zeros(size, np.float32)
        perturb(out, zero, Law(), "w", (size,), direction.components, direction.step, storage="float32")
        realised.append(out.astype(float))
    error = 5 * a.norm() * b.norm() * math.sqrt(2 / size)
    assert abs(np.mean(realised[0] * realised[1]) - inner(a, b)) < error
    assert abs(np.mean(realised[0] ** 2) - a.norm() ** 2) < 5 * a.norm() ** 2 * math.sqrt(2 / size)


def test_a_scale_table_is_looked_up_by_name_in_any_order():
    law = Law(scale={"b": 2.0, "a": 0.5})
    assert law == Law(scale={"a": 0.5, "b": 2})
    assert (law.scale_of("a"), law.scale_of("b")) == (0.5, 2.0)
    with pytest.raises(DirectionInvalid, match="c"):
        law.scale_of("c")
    assert Law.from_json(json.loads(json.dumps(law.to_json()))) == law


def test_directions_are_plain_data_for_other_stores():
    law = Law(scale={"a": 1.0}, scope=("*.mlp.*",))
    text = json.dumps(dataclasses.asdict(Direction((Component(1, 0.1),), law)))
    assert json.loads(text)["components"] == [{"seed": 1, "amplitude": 0.1}]


def test_negative_zero_has_the_digest_of_zero():
    assert Direction((Component(1, -0.0),), Law()).digest() == Direction((Component(1, 0.0),), Law()).digest()


def test_seeds_and_amplitudes_may_be_numpy_numbers():
    assert Component(np.uint64(2**64 - 1), np.float32(0.5)) == Component(2**64 - 1, 0.5)


C = (Component(1, 0.1),)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Component(-1, 0.1),
        lambda: Component(2**64, 0.1),
        lambda: Component(1.0, 0.1),
        lambda: Component(True, 0.1),
        lambda: Component(1, math.nan),
        lambda: Component(1, -math.inf),
        lambda: Component(1, 4e38),
        lambda: Component(1, "0.1"),
        lambda: Component(1, None),
        lambda: Direction((), Law()),
        lambda: Direction((*C, *C), Law()),
        lambda: Direction(C, Law(), math.inf),
        lambda: Direction(C, Law()) * math.nan,
        lambda: Direction((Component(1, 1e38),), Law(), 10.0) + Direction(C, Law()),
        lambda: Direction(C, Law()) + Direction(C, Law(scheme="tied")),
        lambda: inner(Direction(C, Law()), Direction(C, Law("lowrank", 1))),
        lambda: project(Direction(C, Law()), Direction((Component(1, 0.0),), Law())),
        lambda: Law("sparse"),
        lambda: Law("lowrank"),
        lambda: Law("lowrank", 0),
        lambda: Law("lowrank", True),
        lambda: Law("full", 2),
        lambda: Law(scheme="shared"),
        lambda: Law(scope=()),
        lambda: Law(scope=("a", 3)),
        lambda: Law(scale=math.nan),
        lambda: Law(scale={}),
        lambda: Law(scale={"a": math.inf}),
        lambda: Law(version=2),
    ],
)
def test_what_cannot_be_a_direction_is_refused(make):
    with pytest.raises(DirectionInvalid):
        make()


GOOD = Direction(C, Law()).to_json()


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {**GOOD, "extra": 1},
        {key: GOOD[key] for key in ("components", "law")},
        {**GOOD, "components": [[1]]},
        {**GOOD, "components": {"1": 0.1}},
        {**GOOD, "components": [[1, None]]},
        {**GOOD, "components": [["1", 0.1]]},
        {**GOOD, "step": "1"},
        {**GOOD, "law": {**GOOD["law"], "version": 7}},
        {**GOOD, "law": {k: v for k, v in GOOD["law"].items() if k != "scheme"}},
        {**GOOD, "law": {**GOOD["law"], "kind": ["full"]}},
        {**GOOD, "law": {**GOOD["law"], "scale": "1"}},
        {**GOOD, "law": {**GOOD["law"], "scheme": {}}},
    ],
)
def test_json_that_is_no_direction_is_refused(data):
    with pytest.raises(DirectionInvalid):
        Direction.from_json(data)
