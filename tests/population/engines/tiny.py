"""Tiny random models of three families, saved by transformers with a byte-level tokenizer made here."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from population.engines.engine import Prompt

FAMILIES = ("llama", "qwen2", "gpt2")
EOS, PAD = 256, 257
TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}<assistant>"


def save(family: str, folder: Path, *, dtype: str = "float32", template: bool = False) -> Path:
    """A checkpoint: Llama with grouped heads and tied, Qwen2 with biases and untied, or GPT-2."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(FAMILIES.index(family))
        model = build(family).to(getattr(torch, dtype))
    model.generation_config.eos_token_id = EOS
    model.generation_config.pad_token_id = PAD
    model.save_pretrained(folder)
    tokenizer(template=template).save_pretrained(folder)
    return folder


def build(family: str) -> Any:
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
        Qwen2Config,
        Qwen2ForCausalLM,
    )

    sizes: dict[str, Any] = {
        "vocab_size": 260,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "initializer_range": 0.3,  # wide, so that the next tokens differ clearly and no argmax is a near tie
        "eos_token_id": EOS,
        "bos_token_id": None,
    }
    if family == "llama":
        return LlamaForCausalLM(LlamaConfig(**sizes, tie_word_embeddings=True))
    if family == "qwen2":
        return Qwen2ForCausalLM(Qwen2Config(**sizes, tie_word_embeddings=False))
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=260,
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=256,
            initializer_range=0.3,
            eos_token_id=EOS,
            bos_token_id=EOS,
        )
    )


def tokenizer(*, template: bool = False) -> Any:
    """One token per byte, then end of sequence and padding."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: at for at, letter in enumerate(alphabet)} | {"<eos>": EOS, "<pad>": PAD}
    plain = Tokenizer(models.BPE(vocabulary, []))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<eos>", pad_token="<pad>")
    if template:
        made.chat_template = TEMPLATE
    return made


def user(text: str) -> Prompt:
    return [{"role": "user", "content": text}]


def unequal_prompts(count: int = 11, *, prefix: str = "", seed: int = 0) -> list[Prompt]:
    """Prompts of 1 to 40 letters, the same ones for the same arguments."""
    draw = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz "
    return [
        user(prefix + "".join(draw.choice(letters) for _ in range(draw.randrange(1, 41))))
        for _ in range(count)
    ]


def edit_config(folder: Path, **fields: Any) -> None:
    """Set fields of config.json; None removes one."""
    path = folder / "config.json"
    config = json.loads(path.read_text()) | fields
    path.write_text(json.dumps({name: value for name, value in config.items() if value is not None}))


def texts(prompts: Sequence[Prompt]) -> list[str]:
    """What is tokenized where there is no chat template."""
    return ["\n".join(message["content"] for message in prompt) for prompt in prompts]
