"""Choosing the next token: greedy, or by temperature and top-p from addressable uniform draws."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import torch

from population.engines.engine import Sampling


def row_keys(rows: Sequence[Sequence[int]], seed: int) -> list[bytes]:
    """A key per row: of the seed, the row's tokens, and how many equal rows came before it.

    Draws keyed so are the same whatever else is generated beside a prompt, and differ between several
    samples of one prompt.
    """
    seen: Counter[tuple[int, ...]] = Counter()
    keys = []
    for row in map(tuple, rows):
        text = f"{seed}\0{seen[row]}\0{','.join(map(str, row))}"
        keys.append(hashlib.blake2b(text.encode(), digest_size=16).digest())
        seen[row] += 1
    return keys


def uniform(key: bytes, position: int) -> float:
    """The draw in [0, 1) of one row at one position, with 53 random bits."""
    block = hashlib.blake2b(position.to_bytes(8, "little"), digest_size=8, key=key).digest()
    return (int.from_bytes(block, "little") >> 11) * 2.0**-53


def choose(logits: torch.Tensor, sampling: Sampling, keys: Sequence[bytes], position: int) -> torch.Tensor:
    """Next token of every row, (rows,), from its logits, (rows, vocabulary)."""
    if sampling.temperature == 0:
        return logits.argmax(-1)
    draws = torch.tensor([uniform(key, position) for key in keys], dtype=torch.float64, device=logits.device)
    return _inverse_cdf(_nucleus(logits, sampling), draws)


def _nucleus(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    probabilities = (logits.double() / sampling.temperature).softmax(-1)
    if sampling.top_p == 1:
        return probabilities
    ordered, order = probabilities.sort(stable=True, dim=-1, descending=True)
    outside = ordered.cumsum(-1) - ordered >= sampling.top_p  # the token that reaches top_p is still inside
    return probabilities.masked_fill(outside.scatter(-1, order, outside), 0.0)


def _inverse_cdf(probabilities: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
    # In vocabulary order, not by probability: rounding then moves the bounds a little and swaps nothing.
    cdf = probabilities.cumsum(-1)
    target = draws[:, None] * cdf[:, -1:]
    return torch.searchsorted(cdf, target, right=True).squeeze(-1).clamp_(max=probabilities.shape[-1] - 1)
