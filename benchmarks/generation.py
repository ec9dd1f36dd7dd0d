"""Answering against transformers' ``generate``, and switching weights against answering, on SmolLM2."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.engines.engine import Prompt, Sampling
from population.engines.torch import TorchEngine
from verify.task import load_task

PROMPTS, TOKENS = 64, 16
WORDS = ("time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school")


def main(model: Path) -> dict[str, float]:
    """Print and return ratios in CPU time of one thread, and wall seconds of one and two threads.

    Both sides compute in float32, end no answer early and have to produce the same tokens.
    """
    row: dict[str, float] = {}
    engine = start(model, threads=1)
    oracle = Transformers(model, engine)
    for name, prompts in cases().items():
        ours, answers = cpu_seconds(partial(engine.generate, prompts, greedy()))
        theirs, expected = cpu_seconds(partial(oracle.generate, prompts))
        if [list(answer.token_ids) for answer in answers] != expected:
            raise AssertionError(f"{name}: the engine and transformers produced different tokens")
        row[f"{name}: tokens, longest"] = max(map(len, engine._prompts.encode(prompts)))
        row[f"{name}: engine, CPU s"] = ours
        row[f"{name}: transformers / engine"] = theirs / ours
    switch = switching(engine)
    row["switch to a candidate, CPU s"] = switch
    row["switch / answering (few-shot)"] = switch / row["few-shot, shared prefix: engine, CPU s"]
    row["switch / answering (no prefix)"] = switch / row["long tail, no prefix: engine, CPU s"]
    engine.close()
    for threads in (1, 2):
        row[f"few-shot, {threads} thread(s), wall s"] = wall_seconds(model, threads)
    for name, value in row.items():
        print(f"{name:<50}{value:10.3f}")
    return row


def start(model: Path, *, threads: int) -> TorchEngine:
    engine = TorchEngine(Checkpoint.open(model), device="cpu", compute="float32", threads=threads)
    engine._prompts.eos = frozenset()  # every answer has all its tokens
    return engine


def greedy() -> Sampling:
    return Sampling(max_new_tokens=TOKENS)


def cases() -> dict[str, list[Prompt]]:
    """64 prompts each: a few-shot task; no shared prefix with lengths log-uniform, and uniform."""
    import yaml

    from verify.task import TaskSpec

    file = Path(__file__).parents[1] / "examples/tasks/larger.yaml"
    task = load_task(TaskSpec.model_validate(yaml.safe_load(file.read_text())), file.parent)
    draw = random.Random(0)
    return {
        "few-shot, shared prefix": [task.messages(item) for item in task.splits["support"][:PROMPTS]],
        "long tail, no prefix": [words(draw, int(2 ** draw.uniform(2, 7))) for _ in range(PROMPTS)],
        "uniform lengths, no prefix": [words(draw, draw.randrange(4, 129)) for _ in range(PROMPTS)],
    }


def words(draw: random.Random, count: int) -> Prompt:
    """A prompt whose first own words already differ from the others'."""
    text = [draw.choice(WORDS) for _ in range(count)]
    return [
        {"role": "system", "content": " ".join(text[: count // 2 + 1])},
        {"role": "user", "content": " ".join(text[count // 2 + 1 :])},
    ]


class Transformers:
    """What a user of transformers writes: left padding and ``generate``."""

    def __init__(self, path: Path, engine: TorchEngine) -> None:
        import torch

        from population.engines.loading import load_model

        self._engine = engine
        self._model = load_model(path, torch.float32, torch.device("cpu"))  # with transformers' own attention
        self._model.generation_config.eos_token_id = None

    def generate(self, prompts: list[Prompt]) -> list[list[int]]:
        import torch

        ids, mask = self._engine._forward.padded(self._engine._prompts.encode(prompts))
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=ids,
                attention_mask=mask.long(),
                do_sample=False,
                max_new_tokens=TOKENS,
                pad_token_id=self._engine._prompts.pad,
            )
        answers: list[list[int]] = out[:, ids.shape[1] :].tolist()
        return answers


def cpu_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.process_time()
    result = call()
    return time.process_time() - begun, result


def switching(engine: TorchEngine, rounds: int = 5) -> float:
    """CPU seconds of ``set_weights`` to a candidate of one component; the best of some."""
    candidates = [Direction((Component(seed, 0.01),), Law()) for seed in range(rounds)]
    return min(cpu_seconds(partial(engine.set_weights, one))[0] for one in candidates)


def wall_seconds(model: Path, threads: int) -> float:
    """The better of two rounds of the few-shot prompts."""
    engine = start(model, threads=threads)
    prompts = cases()["few-shot, shared prefix"]
    took = []
    for seed in (1, 2):
        engine.set_weights(Direction((Component(seed, 0.001),), Law()))
        begun = time.perf_counter()
        engine.generate(prompts, greedy())
        took.append(time.perf_counter() - begun)
    engine.close()
    return min(took)
