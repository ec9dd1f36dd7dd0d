"""What a model expects next after each prompt and along a given answer; nothing is generated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from population.engines.cache import BlockCache
from population.engines.decode import GROUP_TOKENS, Block, Row, groups
from population.engines.engine import Observation
from population.engines.forward import Forward

LOGITS = 1 << 24  # most logits held at once: 64 MiB in float32, four times that while they are normalised


@torch.inference_mode()
def observe_rows(
    forward: Forward, rows: Sequence[Row], counts: Sequence[int], prefix: BlockCache | None
) -> Iterator[Observation]:
    """Each row at its last ``counts[i]`` tokens; in an order that only the rows decide."""
    order = sorted(range(len(rows)), key=lambda at: len(rows[at].prompt))
    block = Block(forward, [rows[at] for at in order], prefix, 0)
    lengths = [len(row.prompt) for row in block.rows]
    for group in _pieces(lengths, max(counts) * forward.vocabulary):
        keep = max(counts[at] for at in order[group])
        with forward.head_inputs() as states:
            logits = block.prefill(group, keep)
        logprobs = logits.float().log_softmax(-1).cpu().numpy()
        hidden = states[0][:, -keep:].float().cpu().numpy()
        for place, at in enumerate(order[group]):
            own = slice(keep - counts[at], keep)
            yield Observation(at, logprobs[place, own], hidden[place, own])


def _pieces(lengths: Sequence[int], logits: int) -> Iterator[slice]:
    """Groups of similar length, as when scoring, of no more than ``LOGITS`` logits (or one row)."""
    most = max(1, LOGITS // logits)
    for group in groups(lengths, GROUP_TOKENS):
        for start in range(group.start, group.stop, most):
            yield slice(start, min(start + most, group.stop))
