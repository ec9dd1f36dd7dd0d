"""Which tensors of a checkpoint a law moves: presets and patterns over names."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Protocol

from population.errors import DirectionInvalid

FLOATING = ("bfloat16", "float16", "float32")

MLP = ("*.mlp.*", "*.feed_forward.*", "*.ffn.*", "*.block_sparse_moe.*")
ATTENTION = ("*.self_attn.*", "*.attn.*", "*.attention.*", "*.self_attention.*", "*.linear_attn.*")
EMBEDDINGS = ("*embed*.weight", "lm_head.*", "*.wte.weight", "*.wpe.weight", "wte.weight", "wpe.weight")
NORMS = ("*norm*", "*.ln_?.*", "*.ln_f.*", "ln_f.*")

PRESETS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # name: (patterns in, patterns out)
    "all": (("*",), ()),
    "mlp": (MLP, NORMS),
    "attention": (ATTENTION, NORMS),
    "no-embeddings": (("*",), EMBEDDINGS),
    "no-norms": (("*",), NORMS),
}


class Tensor(Protocol):
    """What a scope looks at."""

    @property
    def dtype(self) -> str: ...


def select(tensors: Mapping[str, Tensor], scope: str | tuple[str, ...]) -> tuple[str, ...]:
    """Names of the floating-point tensors in ``scope``, in the order of ``tensors``.

    Args:
        scope: a preset (``all``, ``mlp``, ``attention``, ``no-embeddings``, ``no-norms``) or shell patterns
            over names, of which one has to match. ``mlp`` and ``attention`` leave norms inside them out.

    Raises:
        DirectionInvalid: no such preset, or nothing selected.
    """
    inside, outside = _patterns(scope)
    names = tuple(
        name
        for name, tensor in tensors.items()
        if tensor.dtype in FLOATING and _matches(name, inside) and not _matches(name, outside)
    )
    if not names:
        raise DirectionInvalid(
            f"scope {scope!r} selects none of the {len(tensors)} tensors",
            hint=f"tensors have names like {next(iter(tensors), '(none)')}; presets: {', '.join(PRESETS)}",
        )
    return names


def _patterns(scope: str | tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not isinstance(scope, str):
        return scope, ()
    if scope not in PRESETS:
        raise DirectionInvalid(
            f"unknown scope {scope!r}", hint=f"use {', '.join(PRESETS)}, or a list of patterns over names"
        )
    return PRESETS[scope]


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
