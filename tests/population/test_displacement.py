"""Displacements against scipy and by hand, with an engine of a few numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax
from scipy.stats import entropy

from population import displacement
from population.checkpoint import Checkpoint
from population.direction import Direction, Law
from population.displacement import LIMIT, Reference, positions_within, probe, symmetric_kl
from population.engines.engine import Observation, Prompt, Sampling
from population.engines.torch import TorchEngine
from population.proposal import candidate_seed, null_candidate
from tests.population.engines import tiny

Logits = st.lists(st.lists(st.floats(-20, 20), min_size=5, max_size=5), min_size=1, max_size=4)


@given(Logits, st.integers(0, 2**32 - 1))
def test_symmetric_kl_equals_scipys(logits: list[list[float]], seed: int) -> None:
    p = log_softmax(np.array(logits), axis=-1)
    q = log_softmax(np.random.default_rng(seed).normal(size=p.shape), axis=-1)
    expected = (entropy(np.exp(p), np.exp(q), axis=-1) + entropy(np.exp(q), np.exp(p), axis=-1)) / 2
    found = symmetric_kl(p.astype(np.float32), q.astype(np.float32))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert symmetric_kl(q.astype(np.float32), p.astype(np.float32)) == pytest.approx(found, rel=1e-5)
    assert (found >= 0).all()


@given(Logits)
def test_a_distribution_is_no_distance_from_itself(logits: list[list[float]]) -> None:
    p = log_softmax(np.array(logits), axis=-1).astype(np.float32)
    assert (symmetric_kl(p, p) == 0).all()


def test_impossible_tokens_and_broken_numbers() -> None:
    p = np.log(
        np.array([[0.5, 0.5, 0.0]], np.float32), where=[[True, True, False]], out=np.full((1, 3), -np.inf)
    )
    q = np.log(
        np.array([[0.25, 0.75, 0.0]], np.float32), where=[[True, True, False]], out=np.full((1, 3), -np.inf)
    )
    expected = (entropy([0.5, 0.5], [0.25, 0.75]) + entropy([0.25, 0.75], [0.5, 0.5])) / 2
    assert symmetric_kl(p, q) == pytest.approx([expected])
    assert math.isnan(symmetric_kl(p, np.full((1, 3), np.nan))[0])


class Scripted:
    """An engine whose base answers uniformly; any other weights answer and feel as it is told."""

    def __init__(self, logprobs: Sequence[np.ndarray], hidden: Sequence[np.ndarray]) -> None:
        self.moved = list(zip(logprobs, hidden, strict=True))
        self.direction: Direction | None = None
        self.asked: list[int] = []

    def set_weights(self, direction: Direction | None) -> str:
        self.direction = direction
        return "version"

    def observe(
        self, prompts: Sequence[Prompt], answers: Sequence[str], positions: int
    ) -> Iterator[Observation]:
        self.asked.append(positions)
        for at in range(len(prompts)):
            logprobs, hidden = self.moved[at]
            if self.direction is None:
                logprobs, hidden = np.full_like(logprobs, -math.log(logprobs.shape[1])), np.ones_like(hidden)
            yield Observation(at, logprobs.astype(np.float32), hidden.astype(np.float32))


def test_kl_is_a_mean_over_positions_and_hidden_a_ratio_of_lengths() -> None:
    """Three positions: two of the first prompt, one of the second."""
    tables = [np.log([[0.5, 0.5], [0.2, 0.8]]), np.log([[0.9, 0.1]])]
    states = [np.array([[1.0, 1.0], [1.0, 3.0]]), np.array([[0.0, 1.0]])]
    engine = Scripted(tables, states)
    reference = Reference(engine, [tiny.user("a"), tiny.user("b")], ["", ""], 4)
    engine.set_weights(probe(0, 0.1, 0, Law()).direction)
    found = reference.displacement(engine)
    uniform = [0.5, 0.5]
    each = [(entropy(p, uniform) + entropy(uniform, p)) / 2 for p in ([0.5, 0.5], [0.2, 0.8], [0.9, 0.1])]
    assert found.kl == pytest.approx(sum(each) / 3, rel=1e-5)
    assert found.hidden == pytest.approx(math.sqrt((4 + 1) / 6))
    assert found.finite


def test_a_model_that_breaks_is_infinitely_far() -> None:
    engine = Scripted([np.full((1, 2), np.nan)], [np.full((1, 2), np.inf)])
    reference = Reference(engine, [tiny.user("a")], [""], 1)
    engine.set_weights(probe(0, 0.1, 0, Law()).direction)
    found = reference.displacement(engine)
    assert found.kl == found.hidden == math.inf
    assert not found.finite


def test_a_large_vocabulary_leaves_fewer_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert positions_within(LIMIT, 64, 49_152, 8) == 8
    assert positions_within(LIMIT, 64, 262_144, 8) == 4
    assert positions_within(LIMIT, 4096, 262_144, 8) == 1
    monkeypatch.setattr(
        displacement, "LIMIT", 2 * 1 * 4 * 3
    )  # bytes: two values, one prompt, three positions
    engine = Scripted([np.log([[0.5, 0.5]])], [np.ones((1, 2))])
    assert Reference(engine, [tiny.user("a")], [""], 9).positions == 3
    assert engine.asked[-1] == 3


def test_without_prompts_there_is_no_displacement() -> None:
    with pytest.raises(ValueError, match="at least one prompt"):
        Reference(Scripted([], []), [], [], 1)


def test_probes_are_no_members_of_the_population_and_keep_their_noise_at_every_sigma() -> None:
    members = {candidate_seed(7, index) for index in range(20_000)}
    seeds = []
    for index in range(99):
        near, far = probe(index, 0.001, 7, Law()), probe(index, 0.5, 7, Law())
        assert near.direction is not None
        assert far.direction is not None
        assert near.direction.components[0].seed == far.direction.components[0].seed
        assert near.direction.components[0].amplitude == near.sigma == 0.001
        assert near.key != far.key
        seeds.append(near.direction.components[0].seed)
    assert len(set(seeds)) == 99
    assert not members & set(seeds)


def test_a_real_model_moves_with_sigma_and_not_without(tmp_path: Path) -> None:
    engine = TorchEngine(Checkpoint.open(tiny.save("llama", tmp_path / "llama")), device="cpu", threads=1)
    try:
        prompts = tiny.unequal_prompts(6)
        answers = [answer.text for answer in engine.generate(prompts, Sampling(max_new_tokens=3))]
        reference = Reference(engine, prompts, answers, 3)
        found = []
        for sigma in (0.001, 0.002, 0.004):
            engine.set_weights(probe(0, sigma, 0, Law()).direction)
            found.append(reference.displacement(engine))
        engine.set_weights(null_candidate(Law()).direction)
        assert reference.displacement(engine) == displacement.Displacement(0.0, 0.0)
    finally:
        engine.close()
    for near, far in pairwise(found):
        assert 2.5 < far.kl / near.kl < 6  # quadratic in sigma while it is small
        assert 1.6 < far.hidden / near.hidden < 2.5  # and linear


@pytest.mark.slow
@pytest.mark.model
def test_a_real_model_moves_as_far_as_known(smollm2: Path) -> None:
    """SmolLM2 on plain questions: sigma 0.001 hardly matters, 0.003 moves it about nine times as far."""
    engine = TorchEngine(Checkpoint.open(smollm2), threads=1)
    try:
        prompts = [
            tiny.user(f"What is the capital of {name}?") for name in ("France", "Peru", "Japan", "Chad")
        ]
        answers = [answer.text for answer in engine.generate(prompts, Sampling(max_new_tokens=7))]
        reference = Reference(engine, prompts, answers, 8)
        medians = []
        for sigma in (0.001, 0.003):
            kls = []
            for index in range(5):
                engine.set_weights(probe(index, sigma, 0, Law()).direction)
                kls.append(reference.displacement(engine).kl)
            medians.append(sorted(kls)[2])
    finally:
        engine.close()
    assert 0.0003 < medians[0] < 0.02
    assert 4 < medians[1] / medians[0] < 25
