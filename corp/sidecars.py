"""The files beside the weights: what a server needs besides tensors to behave as the base does.

Copied byte for byte wherever possible. Regenerating them loses things: a second end-of-text id, a template,
the spelling that converters recognise a tokenizer by.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from population.checkpoint import Checkpoint
from population.errors import ModelMissing, ModelUnsupported
from verify.strict_json import loads

COPIED = (
    "generation_config.json",
    "tokenizer.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
LEGAL = ("LICENSE*", "LICENCE*", "NOTICE*", "USE_POLICY.md")
CONFIG, TOKENIZER_CONFIG, TEMPLATE, OLD_TEMPLATE = (
    "config.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "chat_template.json",
)
LIMIT = 256 * 2**20  # bytes; the largest tokenizers in use have 35 MB
DTYPE_KEYS = ("dtype", "torch_dtype")
DROPPED = ("_name_or_path", "quantization_config")


def sidecars(checkpoint: Checkpoint, storage: str) -> dict[str, bytes]:
    """Every file of the export except weights, index, card, recipe and manifest, by name.

    Raises:
        ModelMissing: a file that cannot be read.
        ModelUnsupported: a file that is no JSON or too large, or a link that leads out of the model.
    """
    folder = checkpoint.path
    files = {name: read(folder, name) for name in COPIED if (folder / name).exists()}
    files |= {name: read(folder, name) for name in sorted(_legal(folder))}
    files[CONFIG] = config(checkpoint.config, storage)
    return files | _templates(folder)


def config(base: dict[str, Any], storage: str) -> bytes:
    """``config.json`` with the dtype that the weights now have, under the keys that the base uses."""
    edited = {key: value for key, value in base.items() if key not in DROPPED}
    for key in [key for key in DTYPE_KEYS if key in base] or DTYPE_KEYS[1:]:
        edited[key] = storage  # without either key: torch_dtype, which old and new readers know
    return _json(edited)


def chat_templates(folder: Path) -> dict[str, str]:
    """The default chat template under each file that states one."""
    found = {}
    if (folder / TEMPLATE).exists():
        found[TEMPLATE] = _text(folder, TEMPLATE)
    for name in (TOKENIZER_CONFIG, OLD_TEMPLATE):
        if (folder / name).exists():
            template = _default(_object(folder, name).get("chat_template"))
            if template is not None:
                found[name] = template
    return found


def card_metadata(folder: Path) -> dict[str, Any]:
    """The front matter of the base's model card, every scalar as text; empty where none can be read."""
    try:
        text = read(folder, "README.md").decode("utf-8")
        head = text.removeprefix("---\n").split("\n---", 1)
        front = yaml.load(head[0], yaml.BaseLoader) if text.startswith("---\n") and len(head) == 2 else None
    except (ModelMissing, ModelUnsupported, UnicodeDecodeError, yaml.YAMLError, RecursionError):
        return {}  # a card is decoration: no reason to refuse the model
    return front if isinstance(front, dict) else {}


def read(folder: Path, name: str) -> bytes:
    """A file of the model, followed through the hub cache's links and no others.

    Raises:
        ModelMissing: it cannot be read.
        ModelUnsupported: too large, or a link that leads out of the model.
    """
    path = folder / name
    try:
        real, root = path.resolve(strict=True), folder.resolve()
        # Snapshots of the hub's cache link to ../../blobs.
        if not (real.is_relative_to(root) or real.is_relative_to(root.parent.parent / "blobs")):
            raise ModelUnsupported(f"{path} links to {real}, outside the model", hint="copy the file itself")
        if not real.is_file():
            raise ModelUnsupported(f"{path} is not a plain file")  # opening a pipe would wait for ever
        if real.stat().st_size > LIMIT:
            raise ModelUnsupported(f"{path} has more than {LIMIT >> 20} MiB, which is no {name}")
        return real.read_bytes()
    except OSError as error:
        raise ModelMissing(f"{path} cannot be read: {error.strerror}") from None


def _legal(folder: Path) -> Iterator[str]:
    return (path.name for pattern in LEGAL for path in folder.glob(pattern) if path.is_file())


def _templates(folder: Path) -> dict[str, bytes]:
    """Tokenizer config and template files, with one text in every form.

    transformers and vLLM read the .jinja file first, llama.cpp the tokenizer's config, Ollama only that.
    """
    stated = chat_templates(folder)
    template = stated.get(TEMPLATE) or stated.get(TOKENIZER_CONFIG) or stated.get(OLD_TEMPLATE)
    files = {}
    if (folder / TOKENIZER_CONFIG).exists():
        files[TOKENIZER_CONFIG] = _tokenizer_config(folder, template)
    if template is not None:
        files[TEMPLATE] = template.encode()
    if OLD_TEMPLATE in stated:
        files[OLD_TEMPLATE] = _json({"chat_template": template})
    return files


def _tokenizer_config(folder: Path, template: str | None) -> bytes:
    original = _object(folder, TOKENIZER_CONFIG)
    edited = dict(original)
    if isinstance(edited.get("name_or_path"), str) and Path(edited["name_or_path"]).is_absolute():
        del edited["name_or_path"]  # somebody's home directory
    if template is not None and _default(original.get("chat_template")) != template:
        edited["chat_template"] = _with_default(original.get("chat_template"), template)
    return read(folder, TOKENIZER_CONFIG) if edited == original else _json(edited)


def _default(template: Any) -> str | None:
    """The template that is used when none is named; a list holds several by name."""
    if isinstance(template, list):
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None


def _with_default(templates: Any, text: str) -> Any:
    if not isinstance(templates, list):
        return text
    others = [entry for entry in templates if isinstance(entry, dict) and entry.get("name") != "default"]
    return [{"name": "default", "template": text}, *others]


def _text(folder: Path, name: str) -> str:
    try:
        return read(folder, name).decode("utf-8")
    except UnicodeDecodeError:
        raise ModelUnsupported(f"{folder / name} is not UTF-8 text") from None


def _object(folder: Path, name: str) -> dict[str, Any]:
    try:
        value = loads(_text(folder, name))
    except ValueError as error:
        raise ModelUnsupported(f"{folder / name} is not JSON: {str(error)[:100]}") from None
    if not isinstance(value, dict):
        raise ModelUnsupported(f"{folder / name} is not a JSON object")
    return value


def _json(value: dict[str, Any]) -> bytes:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode()
