"""Completing and scoring a block of prompts.

Rows are sorted by length and prefilled in groups of similar length, so that little is padded; the prompts'
common prefix is computed once and copied in; a decoding step runs all unfinished rows together, and the
finished ones leave once they are a quarter of the block. What runs together depends on the prompts and
their answers only, so the same call gives the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from population.engines.cache import BlockCache
from population.engines.choosing import choose
from population.engines.engine import Sampling
from population.engines.forward import Forward
from population.engines.stopping import Stops

GROUP_TOKENS = (
    512  # of a prefill: products are at full speed, and no activation outgrows malloc's reused blocks
)
LOGITS = 1 << 26  # most logits held at once when scoring: 256 MiB in float32


@dataclass(slots=True)
class Row:
    """One prompt without the shared prefix, and what it has produced."""

    prompt: Sequence[int]
    budget: int
    key: bytes
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stopped: bool = False
    start: int = 0  # first slot in use

    @property
    def done(self) -> bool:
        return self.stopped or len(self.ids) >= self.budget


def prefill_prefix(forward: Forward, ids: Sequence[int]) -> BlockCache:
    """Keys and values of the tokens that all prompts begin with."""
    cache = forward.cache(1, len(ids))
    tokens, mask = forward.padded([ids])
    forward(tokens, mask, torch.arange(len(ids), device=forward.device)[None], cache)
    return cache


def groups(lengths: Sequence[int], tokens: int) -> Iterator[slice]:
    """Split rows of ascending length so that each group, padded to its longest, stays within ``tokens``."""
    start = 0
    for end in range(1, len(lengths) + 1):
        if end == len(lengths) or (end + 1 - start) * lengths[end] > tokens:
            yield slice(start, end)
            start = end


class Block:
    """Rows of ascending length in one cache.

    Args:
        extra: slots to leave for tokens that come after the prompts.
    """

    def __init__(self, forward: Forward, rows: Sequence[Row], prefix: BlockCache | None, extra: int) -> None:
        self.forward = forward
        self.rows = list(rows)
        self.prefix = prefix
        self.shared = prefix.window.end if prefix else 0
        self.longest = len(rows[-1].prompt)
        slots = self.shared + self.longest + extra
        self.cache = forward.cache(len(rows), slots)
        self.mask = torch.zeros(len(rows), slots, dtype=torch.bool, device=forward.device)

    def prefill(self, group: slice, keep: int = 1) -> torch.Tensor:
        """Run one group's prompts; logits of their last ``keep`` tokens, (rows, keep, vocabulary)."""
        rows = self.rows[group]
        ids, own = self.forward.padded([row.prompt for row in rows])
        start = self.longest - ids.shape[1]
        for row in rows:
            row.start = start
        self.mask[group, start : start + self.shared] = True
        self.mask[group, start + self.shared : self.longest + self.shared] = own
        self.cache.begin(self.prefix, group, start)
        positions = self.shared + (own.cumsum(-1) - 1).clamp_(min=0)
        seen = self.mask[group, start : self.longest + self.shared]
        return self.forward(ids, seen, positions, self.cache, keep)

    def step(self, tokens: torch.Tensor, produced: int) -> torch.Tensor:
        """Feed every row its newest token, (rows,); logits for the next one, (rows, vocabulary)."""
        view = self.cache.window
        self.mask[:, view.end] = True
        lengths = torch.tensor([self.shared + len(row.prompt) for row in self.rows], device=tokens.device)
        seen = self.mask[:, view.start : view.end + 1]
        return self.forward(tokens[:, None], seen, (lengths + produced - 1)[:, None], self.cache)[:, -1]

    def drop_finished(self) -> list[int] | None:
        """Let finished rows go once they are a quarter of all; the indices that stay, if anything changed."""
        live = [at for at, row in enumerate(self.rows) if not row.done]
        if 4 * len(live) > 3 * len(self.rows):
            return None
        self.cache.keep(live)
        self.mask = self.mask[live]
        self.rows = [self.rows[at] for at in live]
        self.cache.window.start = min(row.start for row in self.rows)
        return live


def complete(
    forward: Forward,
    rows: Sequence[Row],
    prefix: BlockCache | None,
    sampling: Sampling,
    stops: Stops,
    eos: frozenset[int],
) -> None:
    """Extend every row in place until it stops or has used its budget."""
    block = Block(
        forward, sorted(rows, key=lambda row: len(row.prompt)), prefix, max(row.budget for row in rows)
    )
    lengths = [len(row.prompt) for row in block.rows]
    logits = torch.cat([block.prefill(group)[:, -1] for group in groups(lengths, GROUP_TOKENS)])
    block.cache.look(len(rows), 0, block.shared + block.longest)
    produced = 0
    while True:
        tokens = choose(logits, sampling, [row.key for row in block.rows], produced)
        produced += 1
        _record(block.rows, tokens, logits, sampling, stops, eos)
        if all(row.done for row in block.rows):
            return
        kept = block.drop_finished()
        logits = block.step(tokens if kept is None else tokens[kept], produced)


def _record(
    rows: Sequence[Row],
    tokens: torch.Tensor,
    logits: torch.Tensor,
    sampling: Sampling,
    stops: Stops,
    eos: frozenset[int],
) -> None:
    logprobs = _logprobs(logits, tokens).tolist() if sampling.logprobs else [0.0] * len(rows)
    for row, token, logprob in zip(rows, tokens.tolist(), logprobs, strict=True):
        if row.done:
            continue
        row.ids.append(token)
        row.logprobs.append(logprob)
        row.stopped = token in eos or stops.hit(row.ids)


def _logprobs(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Log-probability of ``tokens``, (...), under ``logits``, (..., vocabulary), in float32."""
    chosen = logits.gather(-1, tokens[..., None]).squeeze(-1)
    return chosen.float() - logits.float().logsumexp(-1)


def score_rows(
    forward: Forward, rows: Sequence[Row], continuations: Sequence[Sequence[int]], prefix: BlockCache | None
) -> list[list[float]]:
    """Log-probability of each continuation's tokens; a row's prompt includes all of them but the last."""
    order = sorted(range(len(rows)), key=lambda at: len(rows[at].prompt))
    block = Block(forward, [rows[at] for at in order], prefix, 0)
    lengths = [len(row.prompt) for row in block.rows]
    scores: list[list[float]] = [[] for _ in rows]
    for group in groups(lengths, min(GROUP_TOKENS, LOGITS // forward.vocabulary)):
        targets = [list(continuations[at]) for at in order[group]]
        keep = max(map(len, targets))
        wanted, _ = forward.padded(targets)
        found = _logprobs(block.prefill(group, keep), wanted).tolist()
        for at, target, values in zip(order[group], targets, found, strict=True):
            scores[at] = values[keep - len(target) :]
    return scores
