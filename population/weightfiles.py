"""The weight files of a checkpoint directory: one safetensors file, or shards and their index.

Everything that two readers could understand differently is refused: files and index that disagree, a tensor
stored twice, an index that points outside the directory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from population.errors import ModelMissing, ModelUnsupported
from population.header import TensorInfo, open_plain, read_header

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"


def read_json(path: Path, *, hint: str) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        ModelMissing: the file cannot be read.
        ModelUnsupported: it holds something else.
    """
    try:
        with open_plain(path) as file:
            content = json.loads(file.read())
    except OSError as error:
        raise ModelMissing(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise ModelUnsupported(f"{path} is not JSON: {str(error)[:100]}", hint=hint) from error
    if not isinstance(content, dict):
        raise ModelUnsupported(f"{path} is not a JSON object", hint=hint)
    return content


def check_format(path: Path, names: frozenset[str]) -> None:
    """Refuse a directory whose weights are in another format.

    Such directories lack other files too; this is said first.

    Raises:
        ModelUnsupported: an adapter, GGUF or pickled weights, and no safetensors.
    """
    if names & {SINGLE, INDEX}:
        return
    if "adapter_config.json" in names:
        raise ModelUnsupported(
            f"{path} is an adapter, not a whole model",
            hint="merge it into its base model with merge_and_unload and name the directory of that",
        )
    others = sorted(name for name in names if name.endswith((".bin", ".pt", ".pth", ".ckpt", ".gguf")))
    if any(name.endswith(".gguf") for name in others):
        raise ModelUnsupported(
            f"{path} has GGUF weights only", hint="use the safetensors checkpoint that it was made from"
        )
    if others:
        raise ModelUnsupported(
            f"{path} has pickled weights only ({others[0]}), and loading them can run code",
            hint="convert them to safetensors with save_pretrained, on a machine where you trust them",
        )


def weight_files(path: Path, names: frozenset[str]) -> tuple[str, ...]:
    """Names of the files that hold the weights, out of all ``names`` in the directory.

    Raises:
        ModelUnsupported: none in safetensors, or two sets of them.
    """
    if SINGLE in names and INDEX in names:
        if set(_weight_map(path).values()) == {SINGLE}:
            return (SINGLE,)
        raise ModelUnsupported(
            f"{path} has both {SINGLE} and {INDEX}, and engines disagree on which one counts",
            hint="remove the one that is out of date",
        )
    if SINGLE in names:
        return (SINGLE,)
    if INDEX in names:
        return tuple(sorted(set(_weight_map(path).values())))
    raise ModelUnsupported(
        f"{path} has neither {SINGLE} nor {INDEX}", hint="name a directory saved by save_pretrained"
    )


def _weight_map(path: Path) -> dict[str, str]:
    """The index's table of tensor name → file, with file names that stay inside the directory."""
    table = read_json(path / INDEX, hint="fetch or save the checkpoint again").get("weight_map")
    if not isinstance(table, dict) or not table:
        raise ModelUnsupported(f"{path / INDEX} has no weight_map", hint="fetch or save the checkpoint again")
    for file in table.values():
        if not isinstance(file, str) or not file.endswith(".safetensors") or re.search(r"[/\\\0]", file):
            raise ModelUnsupported(
                f"{path / INDEX} points at {file!r}, which is not the plain name of a safetensors file",
                hint="do not use this checkpoint unless you know who wrote it",
            )
    return table


def read_tensors(path: Path, files: tuple[str, ...]) -> dict[str, TensorInfo]:
    """Every tensor by name, in the order of the files and of the bytes in them.

    Raises:
        ModelMissing: a file is not there.
        ModelUnsupported: malformed files, or an index that they contradict.
    """
    tensors: dict[str, TensorInfo] = {}
    for file in files:
        for name, info in read_header(path / file).items():
            if name in tensors:
                raise ModelUnsupported(
                    f"tensor {name!r} is stored twice, in {tensors[name].file} and {file}",
                    hint="fetch or save the checkpoint again",
                )
            tensors[name] = info
    if (path / INDEX).exists():
        _check_index(path, tensors)
    return tensors


def _check_index(path: Path, tensors: Mapping[str, TensorInfo]) -> None:
    table = _weight_map(path)
    stray = sorted(table.keys() ^ tensors.keys()) or sorted(
        name for name, file in table.items() if tensors[name].file != file
    )
    if stray:
        raise ModelUnsupported(
            f"{path / INDEX} and the weight files disagree on {len(stray)} tensors, first {stray[0]!r}",
            hint="fetch or save the checkpoint again",
        )
