"""A transformers model's own forward, given what it understands and asked only for the logits needed."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from population.engines.cache import BlockCache, LayerShape
from population.errors import ModelUnsupported


class Forward:
    """The model behind a block cache.

    Attributes:
        shapes: what each layer keeps per token, found by running one token.
        positions: longest sequence the model knows positions for, or None.
        reach: smallest span of a layer that attends locally (sliding window, chunk), or None.
    """

    def __init__(self, model: Any, pad: int) -> None:
        self._model = model
        self._pad = pad
        accepted = inspect.signature(model.forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._takes_keep = "logits_to_keep" in accepted
        self.vocabulary = 0
        self.shapes = self._probe()
        config = model.config.get_text_config(decoder=True)
        self.positions: int | None = getattr(config, "max_position_embeddings", None)
        self.reach = _reach(config)

    @property
    def device(self) -> torch.device:
        device: torch.device = self._model.device
        return device

    def cache(self, rows: int, slots: int) -> BlockCache:
        """Slots for a block of rows."""
        return BlockCache(self.shapes, rows, slots, self._model.dtype, self.device)

    def padded(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and mask, both (rows, longest), with rows aligned at their right end."""
        longest = max(map(len, rows))
        ids = torch.tensor([[self._pad] * (longest - len(row)) + list(row) for row in rows])
        mask = torch.tensor([[False] * (longest - len(row)) + [True] * len(row) for row in rows])
        return ids.to(self.device), mask.to(self.device)

    def __call__(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: BlockCache, keep: int = 1
    ) -> torch.Tensor:
        """Logits of the last ``keep`` tokens, (rows, keep, vocabulary); keys and values go into the cache.

        Args:
            ids: (rows, new) token ids.
            mask: (rows, all) which slots of the cache's window and of the new tokens may be attended to.
            positions: (rows, new) place of each token in its row.
        """
        extra: dict[str, Any] = {}
        if self._takes_positions:
            extra["position_ids"] = positions
        if self._takes_keep:
            # As an index, not a count: the slice for a count is not contiguous, and the output head is then
            # multiplied row by row.
            extra["logits_to_keep"] = torch.arange(ids.shape[1] - keep, ids.shape[1], device=ids.device)
        out = self._model(
            input_ids=ids,
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            return_dict=True,
            **extra,
        )
        cache.window.end += ids.shape[1]
        logits: torch.Tensor = out.logits
        return logits[:, -keep:]

    @contextmanager
    def head_inputs(self) -> Iterator[list[torch.Tensor]]:
        """Within it, each pass adds what the output head is multiplied with, (rows, keep or new, width).

        Raises:
            ModelUnsupported: the model names no output head.
        """
        head = self._model.get_output_embeddings()
        if head is None:
            raise ModelUnsupported(
                f"{type(self._model).__name__} does not say which module its output head is",
                hint="give population.sigmas as numbers: calibration looks at the head's input",
            )
        seen: list[torch.Tensor] = []
        hook = head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        try:
            yield seen
        finally:
            hook.remove()

    def _probe(self) -> list[LayerShape]:
        with torch.inference_mode():
            out = self._model(input_ids=torch.tensor([[self._pad]], device=self.device), use_cache=True)
        self.vocabulary = out.logits.shape[-1]
        layers = getattr(getattr(out, "past_key_values", None), "layers", ())
        keys = [getattr(layer, "keys", None) for layer in layers]
        if not keys or any(key is None or key.dim() != 4 for key in keys):
            raise ModelUnsupported(
                f"{type(self._model).__name__} keeps a recurrent state beside keys and values",
                hint="use a model whose layers all attend to the tokens before",
            )
        return [
            LayerShape(layer.keys.shape[1], layer.keys.shape[3], layer.values.shape[3]) for layer in layers
        ]


def _reach(config: Any) -> int | None:
    spans = [getattr(config, "attention_chunk_size", None)]
    if getattr(config, "use_sliding_window", True):
        spans.append(getattr(config, "sliding_window", None))
    return min((span for span in spans if span), default=None)
