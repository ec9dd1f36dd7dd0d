"""What the engine observes, against transformers in float32 on weights of the slow noise reference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from population.direction import Component, Direction, Law
from population.engines import observing
from population.engines.decode import Block
from population.engines.engine import Observation, Prompt
from population.engines.torch import TorchEngine
from tests.population.engines import tiny
from tests.population.engines.test_conformance import Start, encoded, reference

DIRECTION = Direction((Component(11, 0.02),), Law())
ANSWERS = ("", "a", "bc", "def", "ghij", "klmno")


def expected(model: Any, row: Sequence[int], count: int) -> list[np.ndarray]:
    """Log-probabilities and final state at the last ``count`` tokens of one unpadded row, in float64."""
    import torch

    with torch.no_grad():
        out = model(torch.tensor([list(row)]), output_hidden_states=True)
    table = out.logits[0].double().log_softmax(-1)
    return [table[-count:].numpy(), out.hidden_states[-1][0, -count:].numpy()]


def observe(engine: TorchEngine, prompts: Sequence[Prompt], positions: int) -> dict[int, Observation]:
    return {seen.prompt: seen for seen in engine.observe(prompts, ANSWERS[: len(prompts)], positions)}


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("prefix", ["", "which of the two is larger? "])
def test_observations_agree_with_transformers(
    family: str, prefix: str, families: dict[str, Path], start: Start
) -> None:
    path, prompts = families[family], tiny.unequal_prompts(len(ANSWERS), prefix=prefix)
    engine, rows = start(path, batch_size=4), encoded(path, prompts)
    for direction in (None, DIRECTION):
        engine.set_weights(direction)
        model, seen = reference(path, direction), observe(engine, prompts, positions=4)
        assert sorted(seen) == list(range(len(prompts)))
        for at, (row, answer) in enumerate(zip(rows, ANSWERS, strict=True)):
            tail = list(tiny.tokenizer()(answer)["input_ids"])[:3] if answer else []
            logprobs, hidden = expected(model, [*row, *tail], 1 + len(tail))
            assert seen[at].logprobs.shape == (1 + len(tail), 260)
            assert seen[at].logprobs == pytest.approx(logprobs, abs=2e-4)
            assert seen[at].hidden == pytest.approx(hidden, abs=2e-4)


def test_few_logits_are_held_at_a_time_and_the_pieces_are_the_same(
    families: dict[str, Path], start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, prompts = start(families["llama"]), tiny.unequal_prompts(len(ANSWERS))
    whole = observe(engine, prompts, 3)
    held: list[int] = []
    prefill = Block.prefill

    def counted(self: Block, group: slice, keep: int = 1) -> object:
        logits = prefill(self, group, keep)
        held.append(logits.numel())
        return logits

    monkeypatch.setattr(Block, "prefill", counted)
    monkeypatch.setattr(observing, "LOGITS", 2 * 3 * 260)
    pieces = observe(engine, prompts, 3)
    assert len(held) >= 3
    assert max(held) <= 2 * 3 * 260
    for at, seen in whole.items():
        assert pieces[at].logprobs == pytest.approx(seen.logprobs, abs=1e-5)
        assert pieces[at].hidden == pytest.approx(seen.hidden, abs=1e-5)


def test_observing_leaves_no_trace_on_what_is_generated(families: dict[str, Path], start: Start) -> None:
    from population.engines.engine import Sampling

    engine, prompts = start(families["qwen2"]), tiny.unequal_prompts(5, prefix="one and the same prefix ")
    before = engine.generate(prompts, Sampling(max_new_tokens=6, logprobs=True))
    digest = engine.digest()
    list(engine.observe(prompts, ["x"] * 5, 2))
    assert engine.digest() == digest
    assert engine.generate(prompts, Sampling(max_new_tokens=6, logprobs=True)) == before


def test_no_position_is_refused(families: dict[str, Path], start: Start) -> None:
    with pytest.raises(ValueError, match="0 positions"):
        list(start(families["llama"]).observe(tiny.unequal_prompts(1), [""], 0))


def test_a_model_without_a_named_output_head_is_refused(families: dict[str, Path], start: Start) -> None:
    from population.errors import ModelUnsupported

    engine = start(families["llama"])
    engine._forward._model.get_output_embeddings = lambda: None
    with pytest.raises(ModelUnsupported, match="output head"):
        list(engine.observe(tiny.unequal_prompts(1), [""], 1))
