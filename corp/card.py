"""The model card, README.md of an export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from corp.recipe import Recipe
from population.direction import Direction
from population.sums import rms

INHERITED = ("license", "license_name", "license_link", "language")


def card(
    recipe: Recipe, name: str, base_card: Mapping[str, Any], evaluation: Mapping[str, Any] | None
) -> bytes:
    """The card of a checkpoint made by ``recipe``.

    Args:
        name: of the checkpoint, for the title.
        base_card: front matter of the base's card; its license carries over.
        evaluation: the gate's result with ``decision`` (gain, interval, p_value, level, fixes, regressions,
            n, base, candidate) and perhaps ``test`` (the same fields, but level).
    """
    front = {
        "base_model": recipe.base.id,
        "base_model_relation": "finetune",
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["corp", "gradient-free", "post-training"],
        **{key: base_card[key] for key in INHERITED if _is_plain(base_card.get(key))},
    }
    parts = [_introduction(recipe, name), _evaluation(evaluation), _use(), _verification(recipe)]
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    body = "\n".join(part for part in parts if part)
    return f"---\n{head}---\n\n{body}".encode()


def _is_plain(value: object) -> bool:
    """A text or a list of texts, as the hub has these fields."""
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    )


def _introduction(recipe: Recipe, name: str) -> str:
    direction = recipe.direction
    revision = f" at revision `{recipe.base.revision}`" if recipe.base.revision else ""
    return f"""# {name}

`{recipe.base.id}`{revision}, moved by {_combination(direction)} of {len(direction.components)} seeded
Gaussian perturbations of its weights. They were sampled, scored on a task and weighted by their scores; no
gradient was taken. The root mean square of the change is {rms(direction):.3g} per weight in scope
(`{_scope(recipe)}`), stored in {recipe.storage}.
"""


def _combination(direction: Direction) -> str:
    if direction.merge is None:
        return "a linear combination"
    return f"a {direction.merge.kind.upper()} merge (density {direction.merge.density:g})"


def _scope(recipe: Recipe) -> str:
    scope = recipe.direction.law.scope
    return scope if isinstance(scope, str) else " ".join(scope)


def _evaluation(evaluation: Mapping[str, Any] | None) -> str:
    if evaluation is None:
        return ""
    decision = evaluation["decision"]
    rows = _row("gate", decision)
    if evaluation.get("test"):
        rows += "\n" + _row("test", evaluation["test"])
    return f"""## Verdict: {"accepted" if decision["accepted"] else "abstained"}

| split | n | base | this model | gain (points) | {_level(decision)} interval | fixes | regressions | p |
|---|---|---|---|---|---|---|---|---|
{rows}

Decided by: {evaluation.get("method", "exact McNemar test")}, on prompts that nothing was chosen on. The test
split was scored after the decision.
"""


def _level(decision: Mapping[str, Any]) -> str:
    return f"{100 * (1 - decision.get('level', 0.05)):.4g} %"


def _row(split: str, values: Mapping[str, Any]) -> str:
    low, high = values["interval"]
    return (
        f"| {split} | {values['n']} | {100 * values['base']:.1f} % | {100 * values['candidate']:.1f} %"
        f" | {100 * values['gain']:+.1f} | {100 * low:+.1f} to {100 * high:+.1f}"
        f" | {values['fixes']} | {values['regressions']} | {values['p_value']:.2g} |"
    )


def _use() -> str:
    return """## Use

An ordinary Hugging Face checkpoint: safetensors, one definition per tensor, the chat template in both places.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained(DIRECTORY, dtype="auto")
tokenizer = AutoTokenizer.from_pretrained(DIRECTORY)
```
"""


def _verification(recipe: Recipe) -> str:
    return f"""## Verify

`recipe.json` (SHA-256 `{recipe.digest()}`) lists the seeds and their amplitudes. With the base model at hand,

    corp verify DIRECTORY --base BASE_DIRECTORY

checks every file against `manifest.json`, rebuilds every tensor from base and recipe and compares the bits.
"""
