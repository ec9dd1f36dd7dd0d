from dataclasses import dataclass

import pytest

from population.direction import Law
from population.errors import DirectionInvalid
from population.scope import PRESETS, select


@dataclass(frozen=True)
class Info:
    dtype: str = "bfloat16"


LLAMA = [
    "model.embed_tokens.weight",
    "model.layers.0.input_layernorm.weight",
    "model.layers.0.mlp.down_proj.weight",
    "model.layers.0.mlp.gate_proj.weight",
    "model.layers.0.post_attention_layernorm.weight",
    "model.layers.0.self_attn.q_proj.weight",
    "model.layers.0.self_attn.q_proj.bias",
    "model.layers.0.self_attn.q_norm.weight",
    "model.norm.weight",
    "lm_head.weight",
]
GPT2 = [
    "wte.weight",
    "wpe.weight",
    "transformer.h.0.ln_1.weight",
    "transformer.h.0.attn.c_attn.weight",
    "transformer.h.0.mlp.c_fc.weight",
    "ln_f.weight",
]


def chosen(names, scope):
    return [name for name in names if name in select({n: Info() for n in names}, scope)]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("all", LLAMA),
        ("mlp", LLAMA[2:4]),
        ("attention", LLAMA[5:7]),
        ("no-embeddings", LLAMA[1:9]),
        ("no-norms", [LLAMA[0], *LLAMA[2:4], *LLAMA[5:7], LLAMA[9]]),
        (("*.q_proj.*",), LLAMA[5:7]),
        (("lm_head.*", "*layers.0.mlp*"), [*LLAMA[2:4], LLAMA[9]]),
    ],
)
def test_presets_and_patterns_on_a_llama(scope, expected):
    assert chosen(LLAMA, scope) == expected


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("mlp", [GPT2[4]]),
        ("attention", [GPT2[3]]),
        ("no-embeddings", GPT2[2:]),
        ("no-norms", [*GPT2[:2], *GPT2[3:5]]),
    ],
)
def test_presets_on_a_gpt2(scope, expected):
    assert chosen(GPT2, scope) == expected


def test_integer_tensors_are_never_selected():
    tensors = {
        "a.weight": Info(),
        "a.position_ids": Info("int64"),
        "a.mask": Info("bool"),
        "a.q": Info("uint8"),
    }
    assert select(tensors, "all") == ("a.weight",)
    assert select(tensors, ("*",)) == ("a.weight",)


@pytest.mark.parametrize("scope", ["mlp", ("*.nothing.*",), ("A.*",)])
def test_a_scope_that_selects_nothing_is_refused(scope):
    with pytest.raises(DirectionInvalid, match="selects none"):
        select({"a.weight": Info()}, scope)


def test_an_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(DirectionInvalid, match="no-embeddings"):
        select({"a.weight": Info()}, "everything")


def test_every_preset_is_a_scope_that_a_law_takes():
    assert all(Law(scope=preset).scope == preset for preset in PRESETS)
