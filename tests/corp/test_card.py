from __future__ import annotations

from dataclasses import replace
from typing import Any

import yaml

from corp.card import card
from corp.recipe import Base, Recipe
from population.direction import Component, Direction, Law
from population.merge import Merge

RECIPE = Recipe(
    Base("org/base", "0123abcd", {"model.safetensors": "a" * 64}),
    Direction((Component(1, 0.003), Component(2, 0.004)), Law(scope=("*.mlp.*", "x"))),
    "bfloat16",
    {"w": "b" * 64},
)
DECISION = {
    "accepted": True,
    "gain": 0.25,
    "interval": [0.18, 0.315],
    "p_value": 1.2e-9,
    "level": 0.05,
    "fixes": 73,
    "regressions": 9,
    "n": 256,
    "base": 0.363,
    "candidate": 0.613,
    "reason": "",
}


def parts(data: bytes) -> tuple[dict[str, Any], str]:
    _, front, body = data.decode().split("---\n", 2)
    return yaml.safe_load(front), body


def test_what_is_no_text_is_not_inherited() -> None:
    front, _ = parts(card(RECIPE, "base-corp", {"license": {"a": 1}, "language": ["en", "no"]}, None))
    assert "license" not in front
    assert front["language"] == ["en", "no"]


def test_the_introduction_says_how_the_noise_was_combined() -> None:
    _, body = parts(card(RECIPE, "base-corp", {}, None))
    assert "moved by a linear combination of 2 seeded" in body
    assert "is 0.005 per weight" in body
    rule = Merge("dare", 0.25, (1.0, 1.0), rescale="inverse", normalize=False)
    merged = replace(RECIPE, direction=replace(RECIPE.direction, merge=rule))
    _, body = parts(card(merged, "base-corp", {}, None))
    assert "moved by a DARE merge (density 0.25) of 2 seeded" in body
    assert "is 0.01 per weight" in body


def test_the_front_matter_names_base_relation_and_library() -> None:
    front, _ = parts(card(RECIPE, "base-corp", {}, None))
    assert front["base_model"] == "org/base"
    assert front["base_model_relation"] == "finetune"
    assert front["library_name"] == "transformers"
    assert front["pipeline_tag"] == "text-generation"
    assert "corp" in front["tags"]
    assert "license" not in front


def test_the_bases_license_carries_over_and_nothing_else() -> None:
    inherited = {"license": "other", "license_name": "x", "tags": ["secret"], "base_model": "its/base"}
    front, _ = parts(card(RECIPE, "base-corp", inherited, None))
    assert front["license"] == "other"
    assert front["license_name"] == "x"
    assert "secret" not in front["tags"]
    assert front["base_model"] == "org/base"


def test_the_verdict_stands_with_interval_and_n() -> None:
    test = {key: DECISION[key] for key in DECISION if key not in ("accepted", "level", "reason")} | {"n": 300}
    _, body = parts(card(RECIPE, "base-corp", {}, {"decision": DECISION, "test": test}))
    row = "| gate | 256 | 36.3 % | 61.3 % | +25.0 | +18.0 to +31.5 | 73 | 9 | 1.2e-09 |"
    assert row in body
    assert row.replace("gate | 256", "test | 300") in body
    assert "Verdict: accepted" in body
    assert "| 95 % interval |" in body


def test_without_an_evaluation_the_card_claims_none() -> None:
    _, body = parts(card(RECIPE, "base-corp", {}, None))
    assert "Verdict" not in body


def test_the_card_says_how_to_load_and_to_verify() -> None:
    _, body = parts(card(RECIPE, "base-corp", {}, None))
    assert "AutoModelForCausalLM.from_pretrained" in body
    assert "corp verify" in body
    assert RECIPE.digest() in body
    assert "0.005 per weight" in body  # 0.003 and 0.004 at right angles
    assert "2 seeded" in body
