"""Flat arrays of weights as bit patterns, whoever holds the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from population.errors import DirectionInvalid

if TYPE_CHECKING:
    import torch

CODES = {"bfloat16": 0, "float16": 1, "float32": 2}
"""Storage dtypes, as ``population.kernels`` numbers them."""

_NUMPY = {np.dtype(np.uint16): "bfloat16", np.dtype(np.float16): "float16", np.dtype(np.float32): "float32"}


def raw(weights: NDArray[Any] | torch.Tensor) -> NDArray[Any]:
    """``weights`` as a flat numpy array on the same memory: uint16 for bfloat16, float16 or float32.

    Args:
        weights: a contiguous numpy array or CPU torch tensor of any shape.

    Raises:
        DirectionInvalid: another dtype, another device, or not contiguous.
    """
    array = weights if isinstance(weights, np.ndarray) else _from_torch(weights)
    if array.dtype not in _NUMPY:
        raise DirectionInvalid(
            f"weights of dtype {array.dtype} cannot be perturbed",
            hint="bfloat16 (as uint16), float16 and float32 can; keep other tensors out of the scope",
        )
    if not array.flags.c_contiguous:
        raise DirectionInvalid(f"an array of shape {array.shape} that is not contiguous in memory")
    return array.reshape(-1)


def dtype_of(array: NDArray[Any]) -> str:
    """Name of the dtype whose bit patterns a ``raw`` array holds."""
    return _NUMPY[array.dtype]


def bits(array: NDArray[Any]) -> NDArray[Any]:
    """A ``raw`` array as unsigned integers of its width."""
    return array.view(np.uint32 if array.itemsize == 4 else np.uint16)


def _from_torch(tensor: torch.Tensor) -> NDArray[Any]:
    import torch

    if tensor.device.type != "cpu":
        raise DirectionInvalid(f"a tensor on {tensor.device} where one on the CPU is needed")
    if not tensor.is_contiguous():
        raise DirectionInvalid(f"a tensor of shape {tuple(tensor.shape)} that is not contiguous in memory")
    plain = tensor.detach()
    return (plain.view(torch.uint16) if plain.dtype == torch.bfloat16 else plain).numpy()
