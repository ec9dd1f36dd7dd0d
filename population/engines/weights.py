"""The live weights of a model and the pristine base from which every switch rebuilds them.

A switch never starts from what the last one left, so after any number of them the weights are a pure
function of (base, direction). The base stays in the checkpoint's own dtypes: two bytes per weight for
bfloat16, whatever the model computes in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import torch

from population.checkpoint import RAW, Checkpoint
from population.direction import Direction
from population.errors import EngineMismatch, ModelUnsupported
from population.scope import select
from population.sums import TensorSum
from population.sweep import SweepSums
from population.tensors import raw

ALIGNMENT = 64  # bytes between tensors of the base copy: a cache line, and any dtype's alignment
PIECE = 1 << 22  # elements digested or compared at once: 16 MiB of scratch

BASE = "base"


class LiveWeights:
    """Parameters that are written in place, never replaced.

    Args:
        parameters: by checkpoint name, in checkpoint order.
        storage: dtype that weights are rounded to; the parameters' dtype holds its values exactly.
        threads: most threads for a switch.

    Attributes:
        generation: grows with every switch.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        parameters: Mapping[str, torch.nn.Parameter],
        storage: str,
        threads: int,
    ) -> None:
        self._tensors = checkpoint.tensors
        self._live = {name: parameter.detach().view(-1) for name, parameter in parameters.items()}
        self._storage = storage
        self._threads = threads
        self._base = _read_base(checkpoint, self._live)
        self._moved: set[str] = set()
        self.generation = 0
        self._check_loaded()
        self._restore(self._live)

    def set(self, direction: Direction | None) -> str:
        """Rebuild the weights as ``base + direction``; their version.

        Raises:
            DirectionInvalid: the law's scope or scale table does not fit the tensors. The base is live then.
        """
        if direction is None:
            return self._switch((), BASE, lambda name: None)
        names = select(self._tensors, direction.law.scope)
        return self._switch(names, direction.digest(), lambda name: self._perturb(name, direction))

    def set_staged(self, sums: SweepSums, d: int, step: float) -> str:
        """The weights that ``set`` makes of direction ``d`` of ``sums`` at ``step``, from its stored sum."""
        version = replace(sums.directions[d], step=step).digest()
        return self._switch(sums.names(), version, lambda name: self._realise(name, sums, d, step))

    def digest(self) -> str:
        """SHA-256 over the live weights: little-endian bytes in storage dtype, tensor by tensor."""
        state = hashlib.sha256()
        for live in self._live.values():
            for piece in torch.split(live, PIECE):
                stored = piece.to(getattr(torch, self._storage)).cpu()
                state.update(stored.view(torch.uint8).numpy().data)
        return state.hexdigest()

    def unmoved(self, names: Iterable[str]) -> list[str]:
        """Those of ``names`` whose first weights equal the base's."""
        return [name for name in names if torch.equal(self._live[name][:64], self._rounded(name, 64))]

    def _switch(self, names: Iterable[str], version: str, write: Callable[[str], None]) -> str:
        """Write ``names`` and put back whatever else was off the base; all of it if writing fails."""
        self.generation += 1
        scope = set(names)
        stale, self._moved = self._moved - scope, self._moved | scope
        try:
            for name in names:
                write(name)
        except BaseException:
            stale, scope = self._moved, set()
            raise
        finally:
            self._restore(stale)
            self._moved = scope
        return version

    def _perturb(self, name: str, direction: Direction) -> None:
        TensorSum(direction, name, self._tensors[name].shape, threads=self._threads).realise(
            self._live[name], self._base[name], storage=self._storage
        )

    def _realise(self, name: str, sums: SweepSums, d: int, step: float) -> None:
        live, base = self._live[name], self._base[name].cpu()
        out = live if live.device.type == "cpu" else torch.empty_like(live, device="cpu")
        sums.realise(d, step, name, raw(out), raw(base), storage=self._storage, threads=self._threads)
        if out is not live:
            live.copy_(out)

    def _restore(self, names: Iterable[str]) -> None:
        for name in names:
            self._live[name].copy_(self._rounded(name))

    def _rounded(self, name: str, count: int | None = None) -> torch.Tensor:
        """The base in storage dtype, then in the parameter's."""
        stored = self._base[name][:count].to(getattr(torch, self._storage))
        return stored.to(self._live[name].dtype) if count else stored

    def _check_loaded(self) -> None:
        for name, live in self._live.items():
            if not live.numel():
                raise EngineMismatch(
                    f"the model holds no values for {name}: a packed copy has replaced them",
                    hint="use the torch engine without weight packing",
                )
            if any(piece.isnan().any() for piece in torch.split(live, PIECE)):
                raise ModelUnsupported(
                    f"weights of {name} are NaN: the checkpoint is damaged",
                    hint="fetch or save it again",
                )
            pieces = zip(torch.split(live, PIECE), torch.split(self._base[name], PIECE), strict=True)
            if not all(torch.equal(piece, stored.to(piece.dtype)) for piece, stored in pieces):
                raise EngineMismatch(
                    f"transformers loads {name} otherwise than the checkpoint stores it",
                    hint="load the model with transformers and save it again with save_pretrained",
                )


def _read_base(checkpoint: Checkpoint, live: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Flat views, by name, of one buffer with every tensor as stored, on the parameters' device."""
    offsets, total = {}, 0
    for name in live:
        offsets[name] = total
        total += -(-checkpoint.tensors[name].nbytes // ALIGNMENT) * ALIGNMENT
    buffer = torch.empty(total, dtype=torch.uint8)
    for name, offset in offsets.items():
        info = checkpoint.tensors[name]
        checkpoint.read(name, into=buffer[offset : offset + info.nbytes].numpy().view(RAW[info.dtype]))
    buffer = buffer.to(next(iter(live.values())).device)
    return {
        name: buffer[offset : offset + checkpoint.tensors[name].nbytes].view(
            getattr(torch, checkpoint.tensors[name].dtype)
        )
        for name, offset in offsets.items()
    }
