from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from population.engines.choosing import choose, row_keys, uniform
from population.engines.engine import Sampling


def test_draws_are_uniform_and_addressed_by_position() -> None:
    (key,) = row_keys([[1, 2]], 0)
    draws = [uniform(key, position) for position in range(4000)]
    assert kstest(draws, "uniform").pvalue > 1e-3
    assert uniform(key, 17) == draws[17]


def test_keys_tell_seeds_prompts_and_repeats_apart() -> None:
    keys = [*row_keys([[1], [1], [1, 1], [11]], 0), *row_keys([[1]], 1)]
    assert len(set(keys)) == 5
    assert row_keys([[11], [1]], 0) == [keys[3], keys[0]]


def nucleus(probabilities: np.ndarray, top_p: float) -> set[int]:
    """The smallest set, most likely tokens first, whose probability reaches ``top_p``."""
    inside: set[int] = set()
    total = 0.0
    for token in np.argsort(-probabilities, kind="stable"):
        if total >= top_p:
            break
        inside.add(int(token))
        total += probabilities[token]
    return inside


@given(
    logits=st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=9),
    temperature=st.floats(0.2, 3),
    top_p=st.floats(0.05, 0.999),
    position=st.integers(0, 1000),
)
def test_a_draw_is_the_inverse_distribution_function_of_the_nucleus(
    logits: list[float], temperature: float, top_p: float, position: int
) -> None:
    (key,) = row_keys([[5]], 0)
    scaled = np.array(logits, np.float32).astype(np.float64) / temperature
    probabilities = np.exp(scaled - scaled.max())
    probabilities /= probabilities.sum()
    inside = nucleus(probabilities, top_p)
    masked = np.array([p if token in inside else 0.0 for token, p in enumerate(probabilities)])
    bounds = np.cumsum(masked) / masked.sum()
    draw = uniform(key, position)
    if (
        np.abs(bounds - draw).min() < 1e-9
        or np.abs(np.cumsum(np.sort(probabilities)[::-1]) - top_p).min() < 1e-9
    ):
        return  # rounding decides
    sampling = Sampling(temperature=temperature, top_p=top_p)
    (token,) = choose(torch.tensor([logits]), sampling, [key], position).tolist()
    assert token == int(np.searchsorted(bounds, draw, side="right"))


def test_greedy_takes_the_largest_logit() -> None:
    assert choose(torch.tensor([[0.0, 3.0, 1.0], [2.0, 1.0, 0.0]]), Sampling(), [b"", b""], 0).tolist() == [
        1,
        0,
    ]


def test_a_broken_model_still_yields_a_token_of_the_vocabulary() -> None:
    logits = torch.full((1, 5), float("nan"))
    for sampling in (Sampling(), Sampling(temperature=1.0, top_p=0.5)):
        (token,) = choose(logits, sampling, [b"k"], 0).tolist()
        assert 0 <= token < 5
