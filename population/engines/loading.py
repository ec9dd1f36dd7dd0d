"""The transformers model of a checkpoint, and which of its parameters each stored tensor is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from population.checkpoint import Checkpoint
from population.errors import ModelUnsupported


def load_model(path: Path, dtype: torch.dtype, device: torch.device) -> Any:
    """The model of ``path`` in ``dtype``, in evaluation mode and without gradients.

    Raises:
        ModelUnsupported: transformers does not know the architecture or cannot load the files.
    """
    from transformers import AutoModelForCausalLM

    model: Any
    with _quiet():
        try:
            model = AutoModelForCausalLM.from_pretrained(
                path,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                dtype=dtype,
                ignore_mismatched_sizes=True,  # ``bind`` says which tensor and what shapes
            )
        except Exception as error:  # of any kind, by architecture and version
            raise ModelUnsupported(
                f"transformers cannot load {path}: {_gist(error)}",
                hint="check that this version of transformers knows the architecture in config.json",
            ) from error
        model.tie_weights()  # also where a stored copy of the output head differs: the config says tied
    return model.to(device).eval().requires_grad_(False)


def _gist(error: Exception) -> str:
    """The first paragraph of what it says, on one line."""
    return " ".join(str(error).strip().partition("\n\n")[0].split())[:300]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' progress bar and load report off standard error: ``bind`` checks and says more."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging
    verbosity, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()


def bind(checkpoint: Checkpoint, model: Any) -> dict[str, torch.nn.Parameter]:
    """The parameter that each checkpoint tensor is, in checkpoint order: one to one, and none left over.

    A file may leave out or add the model's prefix, as files saved from the bare model do.

    Raises:
        ModelUnsupported: a tensor without a parameter, a parameter without a tensor, two tensors for one
            parameter, or shapes that differ.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    bound = {name: parameters[_find(checkpoint, model, parameters, name)] for name in checkpoint.tensors}
    owners: dict[int, str] = {}
    for name, parameter in bound.items():
        if id(parameter) in owners:
            raise ModelUnsupported(
                f"{checkpoint.path}: {owners[id(parameter)]!r} and {name!r} are one weight in this model",
                hint='state "tie_word_embeddings" in config.json, or save the model again',
            )
        owners[id(parameter)] = name
        _check_shape(checkpoint, name, parameter)
    missing = [name for name, parameter in parameters.items() if id(parameter) not in owners]
    if missing:
        raise ModelUnsupported(
            f"{checkpoint.path} does not store {len(missing)} of the model's weights, first {missing[0]!r}",
            hint="the checkpoint is incomplete: fetch or save it again",
        )
    return bound


def _find(checkpoint: Checkpoint, model: Any, parameters: dict[str, Any], name: str) -> str:
    prefix = f"{model.base_model_prefix}."
    spellings = {name, prefix + name, name.removeprefix(prefix)}
    found = [spelling for spelling in spellings if spelling in parameters]
    if len(found) == 1:
        return found[0]
    buffers = dict(model.named_buffers())
    what = "is a buffer, not a weight" if spellings & buffers.keys() else "is no weight of the model"
    raise ModelUnsupported(
        f"{checkpoint.path}: tensor {name!r} {what} ({type(model).__name__})",
        hint="load the model with transformers and save it again with save_pretrained",
    )


def _check_shape(checkpoint: Checkpoint, name: str, parameter: torch.nn.Parameter) -> None:
    stored = checkpoint.tensors[name].shape
    if tuple(parameter.shape) != stored:
        raise ModelUnsupported(
            f"{checkpoint.path}: tensor {name!r} has the shape {stored},"
            f" the model's is {tuple(parameter.shape)}",
            hint="check config.json against the weights",
        )
