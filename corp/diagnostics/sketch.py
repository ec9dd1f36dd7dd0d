"""A population's perturbations at a few thousand sampled weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from corp.operators.scores import PopulationScores
from population.direction import Law
from population.header import TensorInfo
from population.noise import accumulate
from population.scope import select

Sketch = npt.NDArray[np.float32]
Run = tuple[TensorInfo, int, int]

RUN = 64
"""Neighbouring weights sampled together: one call makes them all, and full noise knows no neighbours."""

SEEDS = 32
"""Seeds per call; each makes its own row."""


def sketch(
    scores: PopulationScores, tensors: Mapping[str, TensorInfo], *, coordinates: int = 2048, seed: int = 0
) -> Sketch:
    """What each member adds to sampled weights, shape (N, P), P about `coordinates`.

    Weights are drawn in runs of 64, every run of the law's scope with the same chance. The noise is the real
    one, made by the noise contract at those places only: two members of independent noise have a cosine of
    about 1 / sqrt(P) here and 1 / sqrt(D) in the model's D weights.

    Args:
        scores: the members, relative to their centre.
        tensors: of the checkpoint.
        seed: of the draw.

    Raises:
        DirectionInvalid: the law's scope selects nothing.
    """
    law = scores.law
    chosen = [tensors[name] for name in select(tensors, law.scope)]
    runs = _runs(chosen, coordinates, np.random.default_rng(seed))
    noise = np.concatenate([_noise(law, scores.seeds, run) for run in runs], axis=1)
    points: Sketch = np.asarray(scores.coefficients @ noise, np.float32)
    return points


def _runs(tensors: Sequence[TensorInfo], coordinates: int, rng: np.random.Generator) -> list[Run]:
    """Distinct runs (tensor, start, stop) that hold about `coordinates` weights, in the tensors' order."""
    counts = np.array([-(-tensor.size // RUN) for tensor in tensors])
    ends = np.cumsum(counts)
    wanted = max(1, -(-coordinates // RUN))
    # Two draws are hardly ever the same run in a model of any size; in a tiny one, take what there is.
    few = ends[-1] <= 2 * wanted
    drawn = rng.permutation(ends[-1])[:wanted] if few else np.unique(rng.integers(ends[-1], size=wanted))
    found = []
    for number in np.sort(drawn):
        which = int(np.searchsorted(ends, number, side="right"))
        start = int(number - ends[which] + counts[which]) * RUN
        found.append((tensors[which], start, min(start + RUN, tensors[which].size)))
    return found


def _noise(law: Law, seeds: Sequence[int], run: Run) -> Sketch:
    """The noise of every seed at one run, under the law, shape (S, stop - start)."""
    tensor, start, stop = run
    rows = np.zeros((len(seeds), stop - start), np.float32)
    for first in range(0, len(seeds), SEEDS):
        part = seeds[first : first + SEEDS]
        each = np.eye(len(part))
        accumulate(rows[first : first + SEEDS], law, tensor.name, tensor.shape, part, each, start=start)
    return rows
