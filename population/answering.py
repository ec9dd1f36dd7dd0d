"""How a split is answered where it is not greedily in blocks of the rows as they were dealt."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from population.engines.engine import Sampling
from population.errors import PopulationInvalid

Blocks = tuple[Sequence[int], ...]


@dataclass(frozen=True, slots=True)
class Draws:
    """Completions are drawn from the model instead of taken greedily.

    Attributes:
        temperature: > 0; logits are divided by it.
        top_p: nucleus sampling, as in `Sampling`.
        seed: of a whole set of draws. Each draw depends on it, the candidate's key, the prompt and the
            position, so several keys are several samples, whatever is scored beside them.

    Raises:
        PopulationInvalid: a temperature that is not positive and finite, top_p outside (0, 1].
    """

    temperature: float
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise PopulationInvalid(f"temperature {self.temperature!r}", hint="draws need one above 0")
        if not 0 < self.top_p <= 1:
            raise PopulationInvalid(f"top_p {self.top_p!r}", hint="it lies in (0, 1]")

    def sampling(self, key: str, max_new_tokens: int, stop: tuple[str, ...]) -> Sampling:
        """The engine's settings for the candidate called `key`."""
        digest = hashlib.blake2b(f"draws\0{self.seed}\0{key}".encode(), digest_size=8).digest()
        seed = int.from_bytes(digest, "little")
        return Sampling(max_new_tokens, self.temperature, self.top_p, seed, stop)


def manner(draws: Draws | None, order: int) -> dict[str, object]:
    """What sets a key's scores apart from usual ones, JSON-like; empty for the usual way."""
    return ({"draws": asdict(draws)} if draws else {}) | ({"order": order} if order else {})


def arrangement(n: int, block_size: int, order: int) -> Blocks:
    """Which prompts are answered together, by index.

    Order 0 is the usual one. Any other shuffles the prompts by its number and cuts the first block to half,
    so that company, place in the batch and batch size all change.

    Raises:
        PopulationInvalid: a negative order.
    """
    if order < 0:
        raise PopulationInvalid(f"batch order {order}", hint="orders are 0, 1, 2, …")
    if order == 0:
        return tuple(range(start, min(start + block_size, n)) for start in range(0, n, block_size))
    # Hashes, not a library's generator: an order must stay the same for as long as its scores are kept.
    shuffled = sorted(range(n), key=lambda at: hashlib.blake2b(f"order\0{order}\0{at}".encode()).digest())
    first = max(1, min(block_size, n) // 2)
    starts = [0, *range(first, n, block_size)] if n else []
    return tuple(tuple(shuffled[a:b]) for a, b in zip(starts, [*starts[1:], n], strict=False))
