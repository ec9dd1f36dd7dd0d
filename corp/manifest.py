"""The manifest: size and SHA-256 of every other file of an export, written last."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corp.errors import AuditFailed
from corp.recipe import SHA256
from verify.strict_json import loads

NAME = "manifest.json"
VERSION = 1
LIMIT = 16 * 2**20  # bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its size in bytes and its SHA-256."""

    size: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Entry:
        return cls(len(data), hashlib.sha256(data).hexdigest())


@dataclass(frozen=True, slots=True)
class Manifest:
    """Every file of an export by name, the manifest itself left out."""

    files: Mapping[str, Entry]

    def to_bytes(self) -> bytes:
        """The one spelling: JSON with sorted keys."""
        files = {name: {"bytes": entry.size, "sha256": entry.sha256} for name, entry in self.files.items()}
        return f"{json.dumps({'version': VERSION, 'files': files}, indent=1, sort_keys=True)}\n".encode()

    @classmethod
    def read(cls, directory: Path) -> Manifest:
        """The manifest in ``directory``.

        Raises:
            AuditFailed: there is none, or it is not one that ``to_bytes`` wrote.
        """
        path = directory / NAME
        try:
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise ValueError("it is not a plain file")  # opening a pipe would wait for ever
            with path.open("rb") as file:
                data = file.read(LIMIT)
            manifest = cls(_entries(loads(data.decode("utf-8"))))
        except OSError as error:
            inner = directory / "checkpoint"
            hint = f"name {inner}" if (inner / NAME).is_file() else "name a directory that CoRP exported"
            raise AuditFailed(f"{path} cannot be read: {error.strerror}", hint=hint) from None
        except ValueError as error:
            raise AuditFailed(f"{path} is damaged: {str(error)[:200]}") from None
        if manifest.to_bytes() != data:
            raise AuditFailed(f"{path} was changed: it is not spelled as this program spells it")
        return manifest

    def problems(self, directory: Path) -> list[str]:
        """What differs between ``directory`` and the manifest, one sentence for each file."""
        found = [
            f"{name} is not in the manifest" for name in sorted(_listing(directory) - {*self.files, NAME})
        ]
        for name, entry in sorted(self.files.items()):
            problem = _compare(directory / name, entry)
            if problem:
                found.append(f"{name} {problem}")
        return found


def _entries(data: Any) -> dict[str, Entry]:
    if not isinstance(data, dict) or set(data) != {"version", "files"} or not isinstance(data["files"], dict):
        raise ValueError("a manifest has the fields version and files")
    if type(data["version"]) is not int or data["version"] != VERSION:
        raise ValueError(f"its version is {data['version']!r}; this release reads version {VERSION}")
    return {name: _entry(name, value) for name, value in data["files"].items()}


def _entry(name: str, value: Any) -> Entry:
    if name in ("", ".", "..", NAME) or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is not the name of an exported file")
    if not isinstance(value, dict) or set(value) != {"bytes", "sha256"}:
        raise ValueError(f"the entry of {name} has other fields than bytes and sha256")
    size, digest = value["bytes"], value["sha256"]
    if type(size) is not int or size < 0 or not isinstance(digest, str) or not SHA256.fullmatch(digest):
        raise ValueError(f"the entry of {name} has no size or no SHA-256 digest")
    return Entry(size, digest)


def _listing(directory: Path) -> set[str]:
    return set(os.listdir(directory))


def _compare(path: Path, entry: Entry) -> str:
    """What is wrong with a file, or nothing. A link is wrong: what it leads to can change unseen."""
    if not os.path.lexists(path):
        return "is missing"
    if path.is_symlink() or not path.is_file():
        return "is not a plain file"
    try:
        size = path.stat().st_size
        if size != entry.size:
            return f"has {size:,} bytes, not {entry.size:,}"
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "" if digest == entry.sha256 else f"has the SHA-256 {digest[:12]}…, not {entry.sha256[:12]}…"
