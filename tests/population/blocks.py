"""Blocks to store, and the identity of a search to store them for."""

from __future__ import annotations

import numpy as np

from population.block import Block, Reason

IDENTITY = {"task": "t1", "base": {"model.safetensors": "ab"}, "engine": {"threads": 2, "dtype": "float32"}}


def made(candidate: str = "c0", split: str = "support", number: int = 0, n: int = 4, seed: int = 0) -> Block:
    rng = np.random.default_rng([seed, number, n])
    texts = tuple(f"answer {i} of {candidate} ünï\u2028" * (i % 3) for i in range(n))
    values, valid, tokens = rng.random(n), rng.random(n) < 0.7, rng.integers(0, 99, n, np.int32)
    success = valid & (rng.random(n) < 0.5)
    faults = {int(at): Reason("timeout", f"stopped ü{at}") for at in np.flatnonzero(~valid)}
    return Block(candidate, split, number, values, valid, success, tokens, texts, 0.5, faults)


def same(one: Block, other: Block) -> bool:
    arrays = ("values", "valid", "success", "tokens")
    plain = ("candidate", "split", "number", "texts", "seconds", "faults")
    return all(getattr(one, name) == getattr(other, name) for name in plain) and all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name == "values")
        and getattr(one, name).dtype == getattr(other, name).dtype
        for name in arrays
    )
