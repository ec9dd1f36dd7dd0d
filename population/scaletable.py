"""Scale tables: how σ is spread over the tensors of a law's scope.

    isotropic   every weight moves by σ
    rms         each tensor moves by the same share of its own RMS
    modular     each tensor moves by its share of a radius in the norm that fits its role (Modular-Norm
                RandOpt, Yoshihara & Hamade; after the modular norm of Large et al. 2024)

Every table has mean square 1 over the weights in scope, so that σ stays the RMS displacement per weight and
‖direction‖ keeps its meaning; what σ a model needs under a table is calibration's business. Entries have six
significant digits, so that the order in which a machine adds does not show.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from statistics import NormalDist

import numpy as np

from population.checkpoint import Checkpoint, TensorInfo
from population.direction import Law, Scale
from population.errors import DirectionInvalid
from population.scope import ATTENTION, EMBEDDINGS, MLP, NORMS, select

SCALES = ("isotropic", "rms", "modular")
PIECE = 1 << 20  # elements squared at once: 8 MiB in float64

MASSES = {"embedding": 1.0, "head": 1.0, "attention": 0.5, "mlp": 0.5, "norm": 0.1, "other": 0.1}
"""Share of the radius that all tensors of a role have together, before it is divided by their sum."""

HEADS = ("*lm_head.*", "*embed_out.*")
FUSED = {r"(qkv|query_key_value|Wqkv|c_attn)": 3, r"gate_up": 2}  # projections stored as one


def scale_table(checkpoint: Checkpoint, kind: str, law: Law) -> Scale:
    """The scale of ``law`` that spreads σ as ``kind`` says over the tensors in its scope.

    ``rms`` reads the weights once, the others none.

    Raises:
        DirectionInvalid: no such kind, or a scope whose weights are all zero under ``rms``.
    """
    if kind not in SCALES:
        raise DirectionInvalid(f"unknown scale {kind!r}", hint=f"use {', '.join(SCALES)}")
    if kind == "isotropic":
        return 1.0
    infos = {name: checkpoint.tensors[name] for name in select(checkpoint.tensors, law.scope)}
    shares = _root_mean_squares(checkpoint, infos) if kind == "rms" else _modular(infos, law)
    return _normalised(shares, infos, law)


def root_mean_square(checkpoint: Checkpoint, law: Law) -> float:
    """RMS of the weights in the law's scope; one read of them."""
    infos = {name: checkpoint.tensors[name] for name in select(checkpoint.tensors, law.scope)}
    return _overall(_root_mean_squares(checkpoint, infos), infos)


def role(name: str, info: TensorInfo) -> str:
    """A tensor's role by name and rank: vectors that are no norms (biases) are ``other``."""
    patterns = {"norm": NORMS, "head": HEADS, "embedding": EMBEDDINGS, "attention": ATTENTION, "mlp": MLP}
    found = next((r for r, some in patterns.items() if any(fnmatchcase(name, p) for p in some)), "other")
    return "other" if len(info.shape) < 2 and found != "norm" else found


def noise_norm(role: str, info: TensorInfo, law: Law) -> float:
    """Typical norm, for its role, of a unit-variance noise tensor: no draw is needed.

    Embeddings: largest row ℓ2, the median over draws (a χ² quantile by Wilson & Hilferty 1931). Other
    matrices: spectral norm, √m + √n (Bai & Yin 1993); for A·Bᵀ/√r its bound (√m + √r)(√n + √r)/√r.
    Vectors: largest absolute value, the median over draws.
    """
    if len(info.shape) < 2:
        return NormalDist().inv_cdf((1 + 0.5 ** (1 / max(info.size, 1))) / 2)
    rows, columns = info.shape[-2:]
    if role == "embedding" and not law.is_lowrank(info.shape):
        z = NormalDist().inv_cdf(0.5 ** (1 / rows))
        return math.sqrt(columns * (1 - 2 / (9 * columns) + z * math.sqrt(2 / (9 * columns))) ** 3)
    if law.is_lowrank(info.shape):
        rank = math.sqrt(law.rank or 1)
        return (math.sqrt(rows) + rank) * (math.sqrt(columns) + rank) / rank
    return math.sqrt(rows) + math.sqrt(columns)


def _modular(infos: Mapping[str, TensorInfo], law: Law) -> dict[str, float]:
    """mass of the tensor / norm of its unit noise: m_p / (m_total ‖z_p‖) up to the common factor."""
    roles = {name: role(name, info) for name, info in infos.items()}
    counts: Counter[str] = Counter()
    for name in infos:
        counts[roles[name]] += _projections(name)
    return {
        name: MASSES[roles[name]]
        * _projections(name)
        / counts[roles[name]]
        / noise_norm(roles[name], info, law)
        for name, info in infos.items()
    }


def _projections(name: str) -> int:
    return next((count for pattern, count in FUSED.items() if re.search(pattern, name)), 1)


def _root_mean_squares(checkpoint: Checkpoint, infos: Mapping[str, TensorInfo]) -> dict[str, float]:
    found = {}
    for name, info in infos.items():
        total = 0.0
        for start in range(0, info.size, PIECE):
            stored = checkpoint.read(name, start, min(start + PIECE, info.size))
            if info.dtype == "bfloat16":
                stored = (stored.astype(np.uint32) << 16).view(np.float32)
            total += float(np.square(stored.astype(np.float64)).sum())
        found[name] = math.sqrt(total / max(info.size, 1))
    return found


def _normalised(shares: Mapping[str, float], infos: Mapping[str, TensorInfo], law: Law) -> dict[str, float]:
    overall = _overall(shares, infos)
    if not 0 < overall < math.inf:
        raise DirectionInvalid(
            f"the weights in scope {law.scope!r} have the RMS {overall}: there is nothing to be relative to",
            hint="use population.scale=isotropic, or another scope",
        )
    return {name: float(f"{share / overall:.6g}") for name, share in shares.items()}


def _overall(shares: Mapping[str, float], infos: Mapping[str, TensorInfo]) -> float:
    total = math.fsum(infos[name].size * share**2 for name, share in shares.items())
    return math.sqrt(total / max(1, sum(infos[name].size for name in shares)))
