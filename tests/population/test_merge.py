from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from population.direction import Component, Direction, Law, cosine, inner, project
from population.errors import DirectionInvalid
from population.merge import Merge

COMPONENTS = (Component(3, 0.02), Component(2**64 - 1, -0.01), Component(17, 0.005))
TIES = Merge("ties", 0.2, (0.5, 0.3, 0.2), sign_weighting="paper")
DARE = Merge("dare", 0.25, (1.0, 0.0, 2.0), rescale="l1", normalize=False)


def merges() -> st.SearchStrategy[Merge]:
    weights = st.lists(st.floats(0, 1e3), min_size=3, max_size=3).filter(lambda w: max(w) > 1e-30).map(tuple)
    shared = {"density": st.floats(1 / 65536, 1), "weights": weights, "normalize": st.booleans()}
    return st.one_of(
        st.builds(
            Merge, kind=st.just("ties"), sign_weighting=st.sampled_from(["paper", "mergekit"]), **shared
        ),
        st.builds(Merge, kind=st.just("dare"), rescale=st.sampled_from(["l1", "inverse", "none"]), **shared),
    )


@given(merges(), st.floats(-10, 10))
def test_merged_directions_survive_json_bit_for_bit(merge, step):
    direction = Direction(COMPONENTS, Law("lowrank", 4, scope="mlp"), step, merge)
    again = Direction.from_json(json.loads(json.dumps(direction.to_json())))
    assert again == direction
    assert again.digest() == direction.digest()


def test_json_and_digest_of_linear_directions_have_no_trace_of_merges():
    linear = Direction(COMPONENTS, Law(), 0.5)
    assert set(linear.to_json()) == {"components", "law", "step"}
    # Computed before directions could be merged.
    assert linear.digest() == "3a9ab729827933cd49c270da8adae4c36a09d2042839b9c10c86f170935cba5e"


def test_rule_and_weights_are_part_of_the_digest():
    others = [
        None,
        TIES,
        DARE,
        Merge("ties", 0.3, TIES.weights, sign_weighting="paper"),
        Merge("ties", 0.2, (0.5, 0.2, 0.3), sign_weighting="paper"),
        Merge("ties", 0.2, TIES.weights, sign_weighting="mergekit"),
        Merge("ties", 0.2, TIES.weights, sign_weighting="paper", normalize=False),
    ]
    assert len({Direction(COMPONENTS, Law(), 1.0, merge).digest() for merge in others}) == len(others)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kind": "soup"}, "unknown merge 'soup'"),
        ({"kind": ["ties"]}, "unknown merge"),
        ({"density": 0.0}, "density 0"),
        ({"density": 1e-6}, "density 1e-06"),
        ({"density": 1.01}, "density 1.01"),
        ({"density": math.nan}, "density of a merge is nan"),
        ({"density": "0.2"}, "density of a merge is '0.2'"),
        ({"density": True}, "density of a merge is True"),
        ({"weights": ()}, "list of numbers"),
        ({"weights": "123"}, "list of numbers"),
        ({"weights": 1.0}, "list of numbers"),
        ({"weights": (0.0, 0.0, 0.0)}, "all zero"),
        ({"weights": (1e-40, 1e-40, 0.0)}, "all zero"),
        ({"weights": (0.5, -0.1, 0.2)}, "negative"),
        ({"weights": (0.5, math.inf, 0.2)}, "weight of a merge is inf"),
        ({"weights": (0.5, None, 0.2)}, "weight of a merge is None"),
        ({"sign_weighting": "lorax"}, "sign_weighting 'lorax'"),
        ({"sign_weighting": None}, "sign_weighting None of a ties merge"),
        ({"rescale": "l1"}, "rescale 'l1' of a ties merge"),
        ({"kind": "dare"}, "sign_weighting 'paper' of a dare merge"),
        ({"kind": "dare", "sign_weighting": None}, "rescale None of a dare merge"),
        ({"kind": "dare", "sign_weighting": None, "rescale": "l2"}, "rescale 'l2'"),
        ({"normalize": 1}, "normalize is 1"),
    ],
)
def test_bad_fields_are_refused(change, match):
    fields = {"kind": "ties", "density": 0.2, "weights": (0.5, 0.3, 0.2), "sign_weighting": "paper"}
    with pytest.raises(DirectionInvalid, match=match):
        Merge(**fields | change)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "ties",
        {"kind": "ties"},
        TIES.to_json() | {"gamma": 0.01},
        {k: v for k, v in TIES.to_json().items() if k != "normalize"},
    ],
)
def test_json_that_is_no_merge_is_refused(data):
    with pytest.raises(DirectionInvalid, match="merge has the fields"):
        Merge.from_json(data)
    with pytest.raises(DirectionInvalid):
        Direction.from_json(Direction(COMPONENTS, Law()).to_json() | {"merge": data})


def test_a_weight_per_component_is_needed():
    with pytest.raises(DirectionInvalid, match="3 weights of 2 components"):
        Direction(COMPONENTS[:2], Law(), 1.0, TIES)


@pytest.mark.parametrize("merge", [TIES, DARE])
def test_a_merged_direction_can_be_scaled_and_nothing_else(merge):
    merged, linear = Direction(COMPONENTS, Law(), 0.5, merge), Direction(COMPONENTS, Law())
    assert merged * 3.0 == 3.0 * merged == Direction(COMPONENTS, Law(), 1.5, merge)
    assert -merged == Direction(COMPONENTS, Law(), -0.5, merge)
    for act in (
        lambda: merged + linear,
        lambda: linear + merged,
        lambda: merged - merged,
        lambda: inner(merged, linear),
        lambda: inner(linear, merged),
        lambda: cosine(merged, merged),
        lambda: project(linear, merged),
        lambda: project(merged, linear),
        merged.norm,
        merged.coefficients,
    ):
        with pytest.raises(DirectionInvalid, match=f"a {merge.kind} merge is not linear in its seeds"):
            act()
