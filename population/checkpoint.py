"""A Hugging Face checkpoint directory, read without torch.

``Checkpoint.open`` looks at names, headers and JSON only; it costs milliseconds whatever the model's size
and refuses, with a hint, what could not be perturbed, scored and exported faithfully.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from population.errors import ModelMissing, ModelUnsupported
from population.header import TensorInfo
from population.weightfiles import INDEX, SINGLE, check_format, read_json, read_tensors, weight_files

__all__ = ["INDEX", "RAW", "SINGLE", "Checkpoint", "TensorInfo", "resolve"]

RAW: Mapping[str, np.dtype[Any]] = {  # how a weight's bytes appear in numpy, which has no bfloat16
    "bfloat16": np.dtype("<u2"),
    "float16": np.dtype("<f2"),
    "float32": np.dtype("<f4"),
}
TOKENIZERS = (
    ("tokenizer.json",),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("vocab.json", "merges.txt"),
    ("vocab.txt",),
)
OUTPUT_HEADS = ("lm_head.weight", "embed_out.weight")
DOWNLOADS = ("*.safetensors", "*.json", "*.jinja", "*.model", "merges.txt", "vocab.txt")
HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The files of one model.

    Attributes:
        config: ``config.json``.
        tensors: every weight by name, in the order of the files and of the bytes in them; a stored copy of a
            tied output head is left out, because the model has that weight once.
        files: names of the weight files.
        storage: dtype in which weights are stored: the config's, else that of most weights.
        tied_duplicates: names of stored tensors that the config ties to another one.
    """

    path: Path
    config: dict[str, Any]
    tensors: dict[str, TensorInfo]
    files: tuple[str, ...]
    storage: str
    tied_duplicates: tuple[str, ...]

    @classmethod
    def open(cls, path: Path) -> Checkpoint:
        """Check the checkpoint in ``path`` statically.

        Raises:
            ModelMissing: no such directory, or files that cannot be read.
            ModelUnsupported: not a safetensors checkpoint of a causal language model in floating point.
        """
        names = _listing(path)
        check_format(path, names)
        config = read_json(path / "config.json", hint="name a directory saved by save_pretrained")
        _check_config(path, config)
        _check_sidecars(path, names)
        files = weight_files(path, names)
        tensors = read_tensors(path, files)
        _check_weights(path, tensors)
        duplicates = _duplicates(config, tensors)
        tensors = {name: info for name, info in tensors.items() if name not in duplicates}
        return cls(path, config, tensors, files, _storage(path, config, tensors), duplicates)

    def read(
        self, name: str, start: int = 0, stop: int | None = None, into: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Elements ``start:stop`` of a tensor, flat and as stored (bfloat16 as uint16).

        Args:
            into: a contiguous array of that length and dtype to fill; without it, a new one.

        Raises:
            ModelMissing: the file is gone or shorter than its header says.
        """
        info = self.tensors[name]
        dtype = RAW[info.dtype]
        stop = info.size if stop is None else stop
        if not 0 <= start <= stop <= info.size:
            raise IndexError(f"{name} has {info.size} elements, not {start}:{stop}")
        out = np.empty(stop - start, dtype) if into is None else into
        if out.dtype != dtype or out.shape != (stop - start,):
            raise ValueError(f"{name}[{start}:{stop}] is {dtype}, {stop - start} long; into is {out.dtype}")
        _fill(self.path / info.file, info.offset + start * dtype.itemsize, out)
        return out

    def digests(self) -> dict[str, str]:
        """SHA-256 of each weight file."""
        with ThreadPoolExecutor(max_workers=min(4, len(self.files))) as pool:
            return dict(zip(self.files, pool.map(self._digest, self.files), strict=True))

    def _digest(self, file: str) -> str:
        try:
            with (self.path / file).open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise ModelMissing(f"{self.path / file} cannot be read: {error.strerror}") from error


def resolve(model: str, revision: str | None = None) -> Path:
    """The directory of ``model``: itself if it is one, else a snapshot of that id from the model hub.

    Only safetensors, JSON, tokenizer and template files are fetched.

    Raises:
        ModelMissing: neither a directory nor an id that the hub, or its local cache, can serve.
        ModelUnsupported: a single file, for example of GGUF weights.
    """
    path = Path(model).expanduser()
    try:
        is_directory, is_file = path.is_dir(), path.is_file()
    except OSError as error:  # a name longer than any file's
        raise ModelMissing(f"{model[:100]}… cannot be looked up: {error.strerror}") from None
    if is_directory:
        return path
    if is_file:
        raise ModelUnsupported(
            f"{model} is a single file",
            hint="name the directory of a safetensors checkpoint, with its config",
        )
    if not HUB_ID.fullmatch(model):
        raise ModelMissing(f"there is no directory {model}", hint="check the path of the model")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, revision=revision, allow_patterns=list(DOWNLOADS)))
    except Exception as error:  # the hub client's errors share no root: network, cache, login, validation
        raise ModelMissing(
            f"{model!r} is no directory here and could not be fetched from the model hub"
            f" ({type(error).__name__})",
            hint="check the name; offline, name a directory that holds the checkpoint",
        ) from error


def _listing(path: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(path))
    except OSError as error:
        raise ModelMissing(
            f"the model directory {path} cannot be read: {error.strerror}", hint="check the path of the model"
        ) from error


def _check_config(path: Path, config: Mapping[str, Any]) -> None:
    if "auto_map" in config:
        raise ModelUnsupported(
            f"{path} needs its own code (auto_map in config.json), which CoRP never runs",
            hint="use a model whose architecture is part of transformers",
        )
    if "quantization_config" in config:
        raise ModelUnsupported(
            f"the weights in {path} are quantised (quantization_config in config.json)",
            hint="use the unquantised float16, bfloat16 or float32 version of the model",
        )
    architectures = config.get("architectures")
    if not isinstance(architectures, list) or not any(map(_is_causal, architectures)):
        raise ModelUnsupported(
            f"{path} is not a causal language model: its architectures are {architectures}",
            hint="use a model for text generation, for instance one of class …ForCausalLM",
        )


def _is_causal(architecture: object) -> bool:
    return isinstance(architecture, str) and architecture.endswith(("ForCausalLM", "LMHeadModel"))


def _check_sidecars(path: Path, names: frozenset[str]) -> None:
    code = sorted(name for name in names if name.endswith(".py"))
    if code:
        raise ModelUnsupported(
            f"{path} contains code ({', '.join(code[:3])}), which CoRP never runs or passes on",
            hint="use a model whose architecture is part of transformers, or remove the files",
        )
    if not any(names.issuperset(files) for files in TOKENIZERS):
        raise ModelUnsupported(
            f"{path} has no tokenizer", hint="put tokenizer.json or tokenizer.model beside config.json"
        )


def _check_weights(path: Path, tensors: Mapping[str, TensorInfo]) -> None:
    if not tensors:
        raise ModelUnsupported(f"{path} stores no tensors", hint="fetch or save the checkpoint again")
    for info in tensors.values():
        if info.dtype not in RAW:
            raise ModelUnsupported(
                f"{path}: tensor {info.name!r} is {info.dtype}: a buffer or a quantised weight",
                hint="save the model again in float16, bfloat16 or float32 with save_pretrained",
            )
        if info.size == 0:
            raise ModelUnsupported(f"{path}: tensor {info.name!r} is empty")


def _storage(path: Path, config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> str:
    declared = config.get("dtype") or config.get("torch_dtype")
    if declared is None:
        sizes: Counter[str] = Counter()
        for info in tensors.values():
            sizes[info.dtype] += info.size
        return sizes.most_common(1)[0][0]
    if not isinstance(declared, str) or declared not in RAW:
        raise ModelUnsupported(
            f"{path / 'config.json'} declares the dtype {declared!r}", hint=f"CoRP stores {', '.join(RAW)}"
        )
    return declared


def _duplicates(config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> tuple[str, ...]:
    """Output heads that are stored although the config ties them to the input embedding, also stored.

    A config without the field takes its class's default, which only transformers knows. A head stored
    beside the embedding then counts as a weight of its own; the engine, which has the class, finds out
    when that is wrong and refuses.
    """
    if not config.get("tie_word_embeddings", False):
        return ()

    def has_embedding(head: str) -> bool:
        return any(
            re.search(r"emb|wte", name) and name not in OUTPUT_HEADS and info.shape == tensors[head].shape
            for name, info in tensors.items()
        )

    return tuple(name for name in tensors if name in OUTPUT_HEADS and has_embedding(name))


def _fill(path: Path, offset: int, out: NDArray[Any]) -> None:
    """Read ``out.nbytes`` bytes at ``offset`` straight into ``out``."""
    if not out.size:
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            view = out.data.cast("B")
            while view:
                count = os.preadv(descriptor, [view], offset)
                if count == 0:
                    raise ModelMissing(
                        f"{path} ends before its last tensor", hint="fetch the checkpoint again"
                    )
                view, offset = view[count:], offset + count
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ModelMissing(f"{path} cannot be read: {error.strerror}") from error
