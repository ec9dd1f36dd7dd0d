"""The default engine: a transformers model in this process, on the CPU or one GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.engines.engine import Completion, Observation, Prompt, Sampling
from population.engines.placement import compute_dtype, cores, find_device
from population.errors import EngineMismatch, ModelUnsupported

if TYPE_CHECKING:
    import torch

    from population.engines.cache import BlockCache
    from population.engines.decode import Row
    from population.engines.stopping import Stops
    from population.sweep import SweepSums

PROBE = Direction((Component(1, 1.0),), Law())
MIN_PREFIX = 8  # shared tokens below which one more forward pass costs more than it saves


class TorchEngine:
    """Scores directions with transformers' own forward pass and a decoding loop made for many short answers.

    Args:
        checkpoint: as opened by ``Checkpoint.open``.
        device: ``auto`` (the GPU if there is one), ``cpu`` or ``cuda``.
        storage: dtype that weights are rounded to; default the checkpoint's.
        compute: dtype of activations and live weights. ``auto``: the storage dtype on a GPU or a CPU with
            bfloat16 arithmetic, else float32, which such CPUs multiply 6 to 17 times as fast.
        batch_size: prompts that run together.
        threads: default, the physical cores that this process may use.

    Raises:
        ModelUnsupported: an architecture, tensor or dtype that this engine cannot serve.
        EngineMismatch: the live weights are not what was loaded or asked for.
    """

    capabilities = frozenset({"logprobs"})

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        device: str = "auto",
        storage: str | None = None,
        compute: str = "auto",
        batch_size: int = 128,
        threads: int | None = None,
    ) -> None:
        import torch
        import transformers

        from population.engines.attention import use_grouped
        from population.engines.forward import Forward
        from population.engines.loading import bind, load_model
        from population.engines.prompts import Prompts
        from population.engines.weights import LiveWeights

        place = find_device(device)
        stored = storage or checkpoint.storage
        computed = compute_dtype(compute, stored, place.type)
        workers = threads or cores()
        self._batch_size = batch_size
        self._threads_before = torch.get_num_threads()
        torch.set_num_threads(workers)
        self.identity: Mapping[str, object] = {
            "kind": "torch",
            "storage": stored,
            "compute": computed,
            "device": place.type,
            "threads": workers,
            "batch_size": batch_size,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        }
        model = load_model(checkpoint.path, getattr(torch, computed), place)
        use_grouped(model)
        self._prompts = Prompts(checkpoint.path, model.generation_config.eos_token_id)
        self._forward = Forward(model, self._prompts.pad)
        self._weights = LiveWeights(checkpoint, bind(checkpoint, model), stored, workers)
        self._version = "base"
        self._prefix: tuple[tuple[int, tuple[int, ...]], BlockCache] | None = None
        self._check_moves(tuple(checkpoint.tensors))

    def set_weights(self, direction: Direction | None) -> str:
        """Rebuild the live weights as ``base + direction`` in place, from the pristine base."""
        self._version = "base"  # what is live if the direction turns out not to fit
        self._version = self._weights.set(direction)
        return self._version

    def set_staged(self, sums: SweepSums, d: int, step: float) -> str:
        """``set_weights`` of ``sums.directions[d]`` at ``step``, bit for bit, from the stored sum."""
        self._version = "base"
        self._version = self._weights.set_staged(sums, d, step)
        return self._version

    def digest(self) -> str:
        return self._weights.digest()

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, budgets: Sequence[int] | None = None
    ) -> list[Completion]:
        """Complete every prompt, in their order.

        Args:
            budgets: new tokens for each prompt; default ``sampling.max_new_tokens`` for all.

        Raises:
            ModelUnsupported: a prompt that, with its budget, is longer than the model's context, or roles
                that its chat template refuses.
        """
        import torch

        from population.engines.choosing import row_keys
        from population.engines.decode import Row, complete
        from population.engines.stopping import Stops

        limits = [sampling.max_new_tokens] * len(prompts) if budgets is None else list(budgets)
        if len(limits) != len(prompts) or any(limit < 1 for limit in limits):
            raise ValueError("budgets are one positive number of tokens per prompt")
        ids = self._prompts.encode(prompts)
        self._check_lengths([len(row) + limit for row, limit in zip(ids, limits, strict=True)])
        stops = Stops(self._prompts.decode, sampling.stop)
        with torch.inference_mode():
            prefix, shared = self._shared(ids, max(limits, default=0))
            rows = [
                Row(row[shared:], limit, key)
                for row, limit, key in zip(ids, limits, row_keys(ids, sampling.seed), strict=True)
            ]
            for start in range(0, len(rows), self._batch_size):
                block = rows[start : start + self._batch_size]
                complete(self._forward, block, prefix, sampling, stops, self._prompts.eos)
        return [self._completion(row, stops, sampling.logprobs) for row in rows]

    def score(
        self, prompts: Sequence[Prompt], continuations: Sequence[str | Sequence[int]]
    ) -> list[list[float]]:
        """Log-probability of every token of each continuation after its prompt.

        Args:
            continuations: text, tokenized by itself and without special tokens, or token ids.

        Raises:
            ModelUnsupported: as for ``generate``.
        """
        import torch

        from population.engines.decode import Row, score_rows

        targets = [
            self._prompts.continuation(text) if isinstance(text, str) else list(text)
            for text in continuations
        ]
        ids = self._prompts.encode(prompts)
        self._check_lengths([len(row) + len(target) for row, target in zip(ids, targets, strict=True)])
        scores: list[list[float]] = [[] for _ in ids]
        wanted = [at for at, target in enumerate(targets) if target]
        with torch.inference_mode():
            prefix, shared = self._shared(ids, max(map(len, targets), default=0))
            for start in range(0, len(wanted), self._batch_size):
                block = wanted[start : start + self._batch_size]
                rows = [Row([*ids[at][shared:], *targets[at][:-1]], 0, b"") for at in block]
                found = score_rows(self._forward, rows, [targets[at] for at in block], prefix)
                for at, values in zip(block, found, strict=True):
                    scores[at] = values
        return scores

    def observe(
        self, prompts: Sequence[Prompt], answers: Sequence[str], positions: int
    ) -> Iterator[Observation]:
        """Next-token log-probabilities and the output head's input, after each prompt and along its answer.

        A few prompts' worth of logits is held at a time.

        Args:
            answers: of each prompt; tokenized by itself, without special tokens.
            positions: most per prompt: its own last token, then the answer's first ``positions − 1``.

        Yields:
            One observation per prompt, in an order that depends on prompts and answers alone.

        Raises:
            ModelUnsupported: as for ``generate``, or a model that names no output head.
        """
        import torch

        from population.engines.decode import Row
        from population.engines.observing import observe_rows

        if positions < 1:
            raise ValueError(f"{positions} positions of each prompt")
        ids = self._prompts.encode(prompts)
        tails = [self._prompts.continuation(answer)[: positions - 1] for answer in answers]
        self._check_lengths([len(row) + len(tail) for row, tail in zip(ids, tails, strict=True)])
        with torch.inference_mode():
            prefix, shared = self._shared(ids, max(map(len, tails), default=0))
        rows = [Row([*row[shared:], *tail], 0, b"") for row, tail in zip(ids, tails, strict=True)]
        for start in range(0, len(rows), self._batch_size):
            piece = slice(start, start + self._batch_size)
            counts = [1 + len(tail) for tail in tails[piece]]
            for seen in observe_rows(self._forward, rows[piece], counts, prefix):
                yield replace(seen, prompt=start + seen.prompt)

    def generate_population(
        self, directions: Sequence[Direction | None], prompts: Sequence[Prompt], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """Every direction in turn: a dense candidate with many prompts fills the machine by itself."""
        for direction in directions:
            self.set_weights(direction)
            yield self.generate(prompts, sampling)

    def close(self) -> None:
        import torch

        torch.set_num_threads(self._threads_before)
        self._prefix = None
        del self._forward, self._weights

    def _shared(self, ids: Sequence[Sequence[int]], extra: int) -> tuple[BlockCache | None, int]:
        """The prompts' common prefix under the weights of now, and its length.

        Only an equal prefix is taken from the call before: one that is merely longer or shorter would let a
        call's last bits depend on what was asked earlier.
        """
        from population.engines.decode import prefill_prefix
        from population.engines.prompts import common_prefix

        if len(ids) < 2:
            return None, 0
        shared = common_prefix(ids)
        # A layer that attends locally counts slots, and padding after the prefix would shift them.
        reach = self._forward.reach
        if shared < MIN_PREFIX or (reach is not None and max(map(len, ids)) + extra > reach):
            return None, 0
        key = self._weights.generation, tuple(ids[0][:shared])
        if self._prefix is None or self._prefix[0] != key:
            self._prefix = None  # before the new one is allocated
            self._prefix = key, prefill_prefix(self._forward, key[1])
        return self._prefix[1], shared

    def _completion(self, row: Row, stops: Stops, logprobs: bool) -> Completion:
        kept, text, found = stops.cut(row.ids)
        return Completion(
            text=text,
            token_ids=tuple(row.ids[:kept]),
            finish="stop" if found or row.stopped else "length",
            logprobs=tuple(row.logprobs[:kept]) if logprobs else None,
            version=self._version,
        )

    def _check_lengths(self, lengths: Sequence[int]) -> None:
        limit = self._forward.positions
        if limit is not None and max(lengths, default=0) > limit:
            at = lengths.index(max(lengths))
            raise ModelUnsupported(
                f"prompt {at} needs {lengths[at]} tokens with its answer; the model's context has {limit}",
                hint="shorten the prompt or lower max_new_tokens",
            )

    def _check_moves(self, names: Sequence[str]) -> None:
        """See a large perturbation move every tensor and the logits, and see the base come back.

        Engines exist that compute with packed copies of their weights and ignore what is written to them.
        """
        before = self._probe()
        self._weights.set(PROBE)
        still = self._weights.unmoved(names)
        moved = self._probe()
        self._weights.set(None)
        if still or before.equal(moved) or not before.equal(self._probe()):
            raise EngineMismatch(
                f"a perturbation did not reach the model ({', '.join(still[:3]) or 'its outputs'})",
                hint="this model cannot be searched with the torch engine; please report it",
            )

    def _probe(self) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            forward = self._forward
            ids, mask = forward.padded([[self._prompts.pad] * 2])
            positions = torch.arange(2, device=forward.device)[None]
            return forward(ids, mask, positions, forward.cache(1, 2))
