from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corp.errors import RecipeInvalid
from corp.recipe import Base, Recipe, identify
from population.direction import Component, Direction, Law
from population.merge import Merge

digest = st.binary(min_size=32, max_size=32).map(bytes.hex)
amplitude = st.floats(-(2.0**90), 2.0**90, width=32)
component = st.builds(Component, st.integers(0, 2**64 - 1), amplitude)
direction = st.builds(
    Direction,
    st.lists(component, min_size=1, max_size=5, unique_by=lambda c: c.seed).map(tuple),
    st.builds(Law, scope=st.sampled_from(["all", "mlp", ("*.weight", "x")]), scale=st.floats(0.1, 2)),
    amplitude,
)
merge = st.builds(
    Merge,
    kind=st.just("ties"),
    density=st.floats(0.01, 1),
    weights=st.just((1.0,)),
    sign_weighting=st.sampled_from(["paper", "mergekit"]),
    normalize=st.booleans(),
) | st.builds(
    Merge,
    kind=st.just("dare"),
    density=st.floats(0.01, 1),
    weights=st.just((1.0,)),
    rescale=st.sampled_from(["l1", "inverse", "none"]),
)
merged = st.builds(
    lambda one, rule: replace(one, merge=replace(rule, weights=rule.weights * len(one.components))),
    direction,
    merge,
)
base = st.builds(
    Base,
    st.sampled_from(["org/model", "SmolLM2-135M-Instruct", "a model (v2)"]),
    st.none() | st.just("0123abc"),
    st.dictionaries(st.sampled_from(["model.safetensors", "a-1.safetensors"]), digest, min_size=1),
)
recipe = st.builds(
    Recipe,
    base,
    direction | merged,
    st.sampled_from(["bfloat16", "float16", "float32"]),
    st.dictionaries(st.text(min_size=1, max_size=9), digest, min_size=1, max_size=5),
)
json_value: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)

SAMPLE = Recipe(
    Base("org/model", None, {"model.safetensors": "a" * 64}),
    Direction((Component(1, 0.5), Component(7, -0.25)), Law()),
    "bfloat16",
    {"a.weight": "b" * 64, "b.weight": "c" * 64},
)


def changed(path: str, value: object) -> bytes:
    """The sample with one field replaced, spelled as the program spells it."""
    data = json.loads(SAMPLE.to_bytes())
    *parents, last = path.split(".")
    place = data
    for parent in parents:
        place = place[parent]
    place[last] = value
    return f"{json.dumps(data, indent=1, sort_keys=True)}\n".encode()


@given(recipe)
def test_a_recipe_survives_writing_and_reading(one: Recipe) -> None:
    data = one.to_bytes()
    assert Recipe.from_bytes(data) == one
    assert one.digest() == hashlib.sha256(data).hexdigest()


def test_a_merge_is_in_the_file_only_where_there_is_one() -> None:
    rule = Merge("ties", 0.2, (0.5, 0.5), sign_weighting="paper")
    merged = replace(SAMPLE, direction=replace(SAMPLE.direction, merge=rule))
    assert json.loads(merged.to_bytes()) == json.loads(SAMPLE.to_bytes()) | {"merge": rule.to_json()}
    assert b"merge" not in SAMPLE.to_bytes()


@pytest.mark.parametrize("value", [None, {}, {"kind": "ties"}, "ties"])
def test_a_merge_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(RecipeInvalid, match="its direction is wrong: a merge has the fields"):
        Recipe.from_bytes(changed("merge", value))


def test_the_order_of_tables_does_not_show_in_the_file() -> None:
    tensors = dict(reversed(list(SAMPLE.tensors.items())))
    assert Recipe(SAMPLE.base, SAMPLE.direction, SAMPLE.storage, tensors).to_bytes() == SAMPLE.to_bytes()


def test_the_order_of_components_does_show() -> None:
    swapped = Direction(tuple(reversed(SAMPLE.direction.components)), SAMPLE.direction.law)
    assert Recipe(SAMPLE.base, swapped, SAMPLE.storage, SAMPLE.tensors).digest() != SAMPLE.digest()


@given(st.data())
def test_no_changed_byte_reads_as_the_same_recipe(data: st.DataObject) -> None:
    text = bytearray(SAMPLE.to_bytes())
    at = data.draw(st.integers(0, len(text) - 1))
    text[at] ^= data.draw(st.integers(1, 255))
    with suppress(RecipeInvalid):
        assert Recipe.from_bytes(bytes(text)) != SAMPLE


@given(st.sampled_from(sorted(json.loads(SAMPLE.to_bytes()))), json_value)
def test_any_value_in_any_field_is_read_or_refused_by_name(field: str, value: Any) -> None:
    with suppress(RecipeInvalid):
        Recipe.from_bytes(changed(field, value))


@given(st.binary(max_size=60) | json_value.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_recipe_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(RecipeInvalid):
        Recipe.from_bytes(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("extra", 1),
        ("version", 2),
        ("version", True),
        ("version", 1.0),
        ("storage", "int8"),
        ("storage", ["bfloat16"]),
        ("step", float("nan")),
        ("step", "1"),
        ("components", []),
        ("components", [[1, 0.5], [1, 0.25]]),
        ("components", [[-1, 0.5]]),
        ("components", [[2**64, 0.5]]),
        ("components", [[1, 1e39]]),
        ("components", [[1, 1]]),
        ("law.kind", "quantum"),
        ("law.extra", 0),
        ("base.id", ""),
        ("base.id", "/home/me/model"),
        ("base.id", "../model"),
        ("base.id", "a/b/c"),
        ("base.id", "a" * 300),
        ("base.revision", 7),
        ("base.files", {}),
        ("base.files", {"../x.safetensors": "a" * 64}),
        ("base.files", {"model.bin": "a" * 64}),
        ("base.files", {"model.safetensors": "A" * 64}),
        ("tensors", []),
        ("tensors", {"": "a" * 64}),
        ("tensors", {"w": "a" * 63}),
    ],
)
def test_wrong_fields_are_refused(path: str, value: object) -> None:
    assert Recipe.from_bytes(changed("storage", "float32")).storage == "float32"
    with pytest.raises(RecipeInvalid):
        Recipe.from_bytes(changed(path, value))


def test_a_key_that_stands_twice_is_refused() -> None:
    text = SAMPLE.to_bytes().replace(b'"storage"', b'"storage": "float32",\n "storage"')
    with pytest.raises(RecipeInvalid, match="twice"):
        Recipe.from_bytes(text)


def test_another_spelling_is_refused() -> None:
    with pytest.raises(RecipeInvalid, match="spelled"):
        Recipe.from_bytes(SAMPLE.to_bytes() + b"\n")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(RecipeInvalid):
        Recipe.from_bytes(b"[" * 100_000)


def test_a_file_that_is_too_large_is_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    with path.open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(RecipeInvalid, match="more than any recipe"):
        Recipe.read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeInvalid, match=r"recipe\.json cannot be read"):
        Recipe.read(tmp_path / "recipe.json")


def test_a_directory_is_recorded_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    assert identify(str(folder), folder, None) == ("my-model", None)


def test_a_hub_snapshot_is_recorded_by_id_and_commit(tmp_path: Path) -> None:
    folder = tmp_path / "models--org--some--model" / "snapshots" / "0123abcd"
    folder.mkdir(parents=True)
    assert identify("org/some--model", folder, "main") == ("org/some--model", "0123abcd")
    assert identify(str(folder), folder, None) == ("org/some--model", "0123abcd")


def test_a_link_to_a_directory_is_recorded_by_the_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert identify(str(tmp_path / "link"), tmp_path / "link", None) == ("real", None)
