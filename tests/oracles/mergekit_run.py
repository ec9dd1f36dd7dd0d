"""Runs inside mergekit's environment: one merge of safetensors files, with the masks of DARE fed in.

    python -I mergekit_run.py CONFIG OUT [MASKS]

CONFIG is the YAML of `mergekit-pytorch`. MASKS is a safetensors file with one entry "tensor/member" per mask;
tensors have to differ in shape, for that is all a call of torch.bernoulli tells about its tensor.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import torch
from mergekit.scripts.merge_raw_pytorch import main
from safetensors.torch import load_file


def feed(masks: dict[str, torch.Tensor]) -> None:
    """Make torch.bernoulli give the masks, member after member, instead of drawing."""
    queues: dict[torch.Size, list[torch.Tensor]] = defaultdict(list)
    for name in sorted(masks):
        queues[masks[name].shape].append(masks[name])

    def bernoulli(shares: torch.Tensor) -> torch.Tensor:
        mask: torch.Tensor = queues[shares.shape].pop(0)
        return mask.to(shares.dtype)

    torch.bernoulli = bernoulli


if __name__ == "__main__":
    config, out, *rest = sys.argv[1:]
    torch.manual_seed(0)
    if rest:
        feed(load_file(rest[0]))
    main([config, out], standalone_mode=False)
