"""Keys and values of one block of rows, in slots that are allocated once.

Rows end in the same slot; a row's free slots are at its left. So one window of slots serves all rows,
a step writes one slot per row instead of copying the cache, and rows that finish are squeezed out in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one layer keeps per row and token: heads, key width, value width."""

    heads: int
    key: int
    value: int


@dataclass(slots=True)
class Window:
    """What a forward pass sees: rows ``top:bottom``, slots ``start:end``; it writes from ``end`` on."""

    top: int
    bottom: int
    start: int
    end: int


class SlotLayer(CacheLayerMixin):
    """One layer's slots, (rows, heads, slots, width) for keys and values, seen through a window."""

    is_sliding = False

    def __init__(self, slots: tuple[torch.Tensor, torch.Tensor], window: Window) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.slots = slots
        self.window = window
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        view = self.window
        rows, end = slice(view.top, view.bottom), view.end + key_states.shape[2]
        keys, values = self.slots
        keys[rows, :, view.end : end] = key_states
        values[rows, :, view.end : end] = value_states
        return keys[rows, :, view.start : end], values[rows, :, view.start : end]

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        pass  # the slots are there from the start

    def get_seq_length(self) -> int:
        return self.window.end - self.window.start

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        return -1


class BlockCache(Cache):
    """The cache of a block: ``rows`` rows of ``slots`` slots in every layer."""

    def __init__(
        self,
        shapes: Sequence[LayerShape],
        rows: int,
        slots: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.window = Window(0, rows, 0, 0)

        def empty(heads: int, width: int) -> torch.Tensor:
            return torch.empty(rows, heads, slots, width, dtype=dtype, device=device)

        self.slots = [(empty(shape.heads, shape.key), empty(shape.heads, shape.value)) for shape in shapes]
        super().__init__(layers=[SlotLayer(pair, self.window) for pair in self.slots])

    def begin(self, prefix: BlockCache | None, rows: slice, start: int) -> None:
        """Prepare ``rows`` for their prompts: blank slots up to ``start``, then the prefix, then the window.

        Blank slots are masked, but hold zeros all the same: a masked NaN would still spoil its row.
        """
        length = prefix.window.end if prefix else 0
        for layer, pair in enumerate(self.slots):
            for which, slots in enumerate(pair):
                slots[rows, :, :start] = 0
                if prefix:
                    shared = prefix.slots[layer][which][:, :, :length]
                    slots[rows, :, start : start + length] = shared
        self._look(rows.start, rows.stop, start, start + length)

    def look(self, rows: int, start: int, end: int) -> None:
        """Let the next forward passes see the first ``rows`` rows and the slots ``start:end``."""
        self._look(0, rows, start, end)

    def keep(self, rows: Sequence[int]) -> None:
        """Move ``rows`` (ascending) to the top, within the window's slots."""
        view = self.window
        for slots in (half for pair in self.slots for half in pair):
            for target, source in enumerate(rows):
                if target != source:  # a row only ever moves up, so nothing unread is overwritten
                    slots[target, :, view.start : view.end] = slots[source, :, view.start : view.end]
        view.bottom = len(rows)

    def _look(self, top: int, bottom: int, start: int, end: int) -> None:
        view = self.window
        view.top, view.bottom, view.start, view.end = top, bottom, start, end
