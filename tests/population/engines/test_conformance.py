"""Every engine against transformers in float32, on weights rebuilt by the slow noise reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.engines.engine import Engine, Prompt, Sampling
from population.engines.torch import TorchEngine
from population.engines.weights import LiveWeights
from tests.population.engines import tiny

Start = Callable[..., TorchEngine]

DIRECTION = Direction((Component(11, 0.02), Component(12, -0.05)), Law(), step=0.5)
LAWS = (
    Law(),
    Law(kind="lowrank", rank=2),
    Law(scheme="tied"),
    Law(scope="no-norms"),
)


def reference(path: Path, direction: Direction | None) -> Any:
    """transformers' model in float32, its parameters moved by ``population.noise_reference``, by name."""
    import torch
    from transformers import AutoModelForCausalLM

    from population.noise_reference import perturbed
    from population.scope import select

    checkpoint = Checkpoint.open(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, local_files_only=True).eval()
    if direction is not None:
        state = dict(model.named_parameters())
        for name in select(checkpoint.tensors, direction.law.scope):
            moved = perturbed(
                state[name].detach(),
                direction.law,
                name,
                direction.components,
                direction.step,
                checkpoint.storage,
            )
            state[name].data.copy_(moved)
    return model


def encoded(path: Path, prompts: Sequence[Prompt]) -> list[list[int]]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
    ids: list[list[int]] = tokenizer(tiny.texts(prompts))["input_ids"]
    return ids


def greedy(model: Any, rows: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """transformers' own generate on left-padded rows, cut after the end-of-sequence token."""
    import torch

    longest = max(map(len, rows))
    ids = torch.tensor([[tiny.PAD] * (longest - len(row)) + list(row) for row in rows])
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
    out = model.generate(input_ids=ids, attention_mask=mask, do_sample=False, max_new_tokens=count)
    answers = [answer[longest:] for answer in out.tolist()]
    return [answer[: answer.index(tiny.EOS) + 1] if tiny.EOS in answer else answer for answer in answers]


def log_probabilities(model: Any, row: Sequence[int], continuation: Sequence[int]) -> list[float]:
    """By one plain forward pass per row: no padding, no cache."""
    import torch

    with torch.no_grad():
        logits = model(torch.tensor([[*row, *continuation]])).logits[0].double()
    table = logits.log_softmax(-1)
    return [float(table[len(row) - 1 + at, token]) for at, token in enumerate(continuation)]


def check_conformance(engine: Engine, path: Path, direction: Direction | None) -> None:
    """Log-probabilities and greedy answers agree with the reference under ``direction``."""
    prompts = [*tiny.unequal_prompts(7), *tiny.unequal_prompts(5, prefix="which is larger? ", seed=1)]
    continuations = ["a", "bc", "", "de f", "g" * 9] * 2 + ["hi", "j"]
    model, rows = reference(path, direction), encoded(path, prompts)
    engine.set_weights(direction)
    for row, text, scores in zip(rows, continuations, engine.score(prompts, continuations), strict=True):
        expected = log_probabilities(model, row, list(tiny.tokenizer()(text)["input_ids"]))
        assert scores == pytest.approx(expected, abs=2e-4)
    answers = engine.generate(prompts, Sampling(max_new_tokens=12))
    assert [list(answer.token_ids) for answer in answers] == greedy(model, rows, 12)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_base_and_perturbed_models_agree_with_transformers(
    family: str, families: dict[str, Path], start: Start
) -> None:
    engine = start(families[family])
    check_conformance(engine, families[family], None)
    check_conformance(engine, families[family], DIRECTION)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.kind}-{law.scheme}-{law.scope}")
def test_every_kind_of_law_agrees_with_transformers(
    law: Law, families: dict[str, Path], start: Start
) -> None:
    direction = Direction(DIRECTION.components, law)
    check_conformance(start(families["llama"]), families["llama"], direction)


def test_weights_stored_in_bfloat16_and_computed_in_float32_agree_with_transformers(
    bfloat16_llama: Path, start: Start
) -> None:
    model = reference(bfloat16_llama, DIRECTION)
    engine = start(bfloat16_llama, compute="float32")
    assert engine.identity["storage"] == "bfloat16"
    assert engine.identity["compute"] == "float32"
    engine.set_weights(DIRECTION)
    prompt = tiny.user("hello")
    row = list(tiny.tokenizer()("<user>hello\n<assistant>")["input_ids"])
    (scores,) = engine.score([prompt], [[1, 2, 3]])
    assert scores == pytest.approx(log_probabilities(model, row, [1, 2, 3]), abs=2e-4)


class SkipsOneTensor(TorchEngine):
    """An engine with the fault that conformance has to find: one tensor stays at the base."""

    skipped = "model.layers.1.mlp.up_proj.weight"

    def set_weights(self, direction: Direction | None) -> str:
        version = super().set_weights(direction)
        self._weights._restore([self.skipped])
        return version


def test_an_engine_that_skips_a_tensor_fails_conformance(families: dict[str, Path], start: Start) -> None:
    engine = start(families["llama"], SkipsOneTensor)
    check_conformance(engine, families["llama"], None)
    with pytest.raises(AssertionError):
        check_conformance(engine, families["llama"], DIRECTION)


def test_an_engine_that_ignores_perturbations_does_not_start(
    families: dict[str, Path], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    from population.errors import EngineMismatch

    monkeypatch.setattr(LiveWeights, "_perturb", lambda self, name, direction: None)
    with pytest.raises(EngineMismatch, match="did not reach the model"):
        start(families["llama"])


def test_log_probabilities_of_produced_tokens_equal_their_score(
    families: dict[str, Path], start: Start
) -> None:
    engine = start(families["qwen2"])
    prompts = tiny.unequal_prompts(6)
    sampling = Sampling(max_new_tokens=8, temperature=1.0, logprobs=True, seed=3)
    answers = engine.generate(prompts, sampling)
    scores = engine.score(prompts, [answer.token_ids for answer in answers])
    for answer, score in zip(answers, scores, strict=True):
        assert answer.logprobs == pytest.approx(score, abs=1e-4)
        assert all(value < 0 and math.isfinite(value) for value in score)
