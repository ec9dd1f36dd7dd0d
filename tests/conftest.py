"""Checkpoints that the tests share: trained or written once, never changed by a test."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import settings

from examples import pocket as pocket_model

# A deadline per example fails on a busy machine, and says nothing about the code.
settings.register_profile("corp", deadline=None)
settings.load_profile("corp")

CACHE = Path(os.environ.get("CORP_CACHE", "~/.cache/corp")).expanduser()


def _pocket_key() -> str:
    """Whatever can change the trained weights: the script, the libraries and the processor's instructions."""
    source = Path(pocket_model.__file__).read_bytes()
    parts = (version("torch"), version("transformers"), platform.machine())
    return hashlib.sha256(source + "\0".join(parts).encode()).hexdigest()[:16]


@pytest.fixture(scope="session")
def pocket() -> Path:
    """The pocket model's checkpoint, float32. Trained (about 20 s of one core) when the cache lacks it."""
    target = CACHE / f"pocket-{_pocket_key()}"
    if not target.exists():
        try:
            pocket_model.train(target)
        except OSError:
            if not target.exists():  # else another session published the same model meanwhile
                raise
    return target


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct as ``make model`` prepares it, bfloat16."""
    named = os.environ.get("CORP_TEST_MODEL")
    if not named:
        pytest.skip("CORP_TEST_MODEL does not name the SmolLM2 checkpoint; `make model` prepares one")
    if not (Path(named) / "config.json").exists():
        pytest.skip(f"CORP_TEST_MODEL={named} holds no checkpoint; `make model` prepares one")
    return Path(named)


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama of two layers in bfloat16, embeddings untied, heads grouped, pocket tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    target = tmp_path_factory.mktemp("tiny-llama") / "tiny-llama"
    config = LlamaConfig(
        vocab_size=16,
        hidden_size=32,
        intermediate_size=72,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.2,
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(target)
    pocket_model.tokenizer().save_pretrained(target)
    for file in target.iterdir():
        file.chmod(0o644)
    return target
