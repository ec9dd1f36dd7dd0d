"""Recipes: the few kilobytes from which anyone who has the base rebuilds a checkpoint bit for bit."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corp.errors import RecipeInvalid
from population.checkpoint import RAW
from population.direction import Direction
from population.errors import DirectionInvalid
from verify.strict_json import loads

VERSION = 1
NAME = "recipe.json"
LIMIT = 64 * 2**20  # bytes; a hundred thousand components and a hundred thousand tensors are 20 MB
HINT = "use the recipe.json of the export as it was written"

SHA256 = re.compile(r"[0-9a-f]{64}")
WEIGHT_FILE = re.compile(r"[\w-][\w.-]*\.safetensors")
MODEL_ID = re.compile(r"[^/\\\x00-\x1f\x7f.][^/\\\x00-\x1f\x7f]*(/[^/\\\x00-\x1f\x7f.][^/\\\x00-\x1f\x7f]*)?")


@dataclass(frozen=True, slots=True)
class Base:
    """The model that the noise was added to.

    Attributes:
        id: hub id, or the name of its directory; never a path.
        revision: hub commit, None for a directory.
        files: SHA-256 of each weight file by name.
    """

    id: str
    revision: str | None
    files: Mapping[str, str]

    def __post_init__(self) -> None:
        _require(_is_short(self.id), "the base's id is not a short text")
        _require(MODEL_ID.fullmatch(self.id), f"the base's id {self.id!r} is not a model's name")
        _require(self.revision is None or _is_short(self.revision), "the base's revision is not a short text")
        _check_digests(self.files, "base.files")
        _require(all(map(WEIGHT_FILE.fullmatch, self.files)), "base.files names something else than weights")


@dataclass(frozen=True, slots=True)
class Recipe:
    """base + direction, rounded to ``storage``, gives tensors with these digests.

    Attributes:
        storage: dtype of the result: bfloat16, float16 or float32.
        tensors: SHA-256 of each resulting tensor's little-endian bytes, row-major, by checkpoint name.
        version: of this format; the noise's version is in the direction's law.

    Raises:
        RecipeInvalid: any field that is not what it should be.
    """

    base: Base
    direction: Direction
    storage: str
    tensors: Mapping[str, str]
    version: int = VERSION

    def __post_init__(self) -> None:
        _require(
            type(self.version) is int and self.version == VERSION,
            f"its version is {self.version!r}; this release reads version {VERSION}",
        )
        _require(self.storage in tuple(RAW), f"unknown dtype {self.storage!r}")
        _check_digests(self.tensors, "tensors")

    def to_bytes(self) -> bytes:
        """The one spelling: JSON with sorted keys, so equal recipes are equal files."""
        values = {
            "version": self.version,
            "base": {"id": self.base.id, "revision": self.base.revision, "files": dict(self.base.files)},
            **self.direction.to_json(),
            "storage": self.storage,
            "tensors": dict(self.tensors),
        }
        return f"{json.dumps(values, indent=1, sort_keys=True, allow_nan=False)}\n".encode()

    def digest(self) -> str:
        """SHA-256 of the file: what ``sha256sum recipe.json`` prints."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @classmethod
    def from_bytes(cls, data: bytes) -> Recipe:
        """The recipe that ``to_bytes`` wrote; any other spelling is refused.

        Raises:
            RecipeInvalid: what is wrong with it.
        """
        _require(len(data) <= LIMIT, f"it has {len(data):,} bytes, more than any recipe")
        recipe = cls._from_json(_parse(data))
        _require(recipe.to_bytes() == data, "it is not spelled as this program spells it")
        return recipe

    @classmethod
    def read(cls, path: Path) -> Recipe:
        """The recipe in a file.

        Raises:
            RecipeInvalid: the file cannot be read, or what is wrong with it.
        """
        try:
            with path.open("rb") as file:
                return cls.from_bytes(file.read(LIMIT + 1))
        except OSError as error:
            raise RecipeInvalid(f"{path} cannot be read: {error.strerror}", hint=HINT) from None
        except RecipeInvalid as error:
            raise RecipeInvalid(f"{path}: {error.detail}", hint=error.hint) from None

    @classmethod
    def _from_json(cls, data: Any) -> Recipe:
        keys = ("version", "base", "law", "components", "step", "storage", "tensors")
        merge = ("merge",) if isinstance(data, dict) and "merge" in data else ()
        values = _fields(data, (*keys, *merge), "a recipe")
        base = _fields(values["base"], ("id", "revision", "files"), "its base")
        try:
            direction = Direction.from_json(
                {key: values[key] for key in ("components", "law", "step", *merge)}
            )
        except DirectionInvalid as error:
            raise RecipeInvalid(f"its direction is wrong: {error.detail}", hint=HINT) from None
        return cls(Base(**base), direction, values["storage"], values["tensors"], values["version"])


def identify(model: str, path: Path, revision: str | None) -> tuple[str, str | None]:
    """Name and revision under which a recipe records the model ``model`` that lies in ``path``.

    A hub snapshot gives its commit, whatever branch was asked for; a directory gives its name and no more.
    """
    path = path.resolve()
    if path.parent.name == "snapshots" and path.parent.parent.name.startswith("models--"):
        return path.parent.parent.name.removeprefix("models--").replace("--", "/", 1), path.name
    if Path(model).expanduser().is_dir():
        return path.name, None
    return model, revision


def _parse(data: bytes) -> Any:
    try:
        return loads(data.decode("utf-8"))
    except ValueError as error:
        raise RecipeInvalid(f"it is not JSON: {str(error)[:100]}", hint=HINT) from None


def _fields(data: Any, names: tuple[str, ...], what: str) -> dict[str, Any]:
    found = sorted(data) if isinstance(data, dict) else type(data).__name__
    _require(found == sorted(names), f"{what} has the fields {', '.join(names)}; this one has {found}"[:400])
    fields: dict[str, Any] = data
    return fields


def _is_short(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 256


def _check_digests(table: Any, what: str) -> None:
    _require(isinstance(table, Mapping) and len(table) > 0, f"{what} is not a table of names and digests")
    for name, digest in table.items():
        _require(isinstance(name, str) and name != "", f"{what} has the name {name!r}")
        _require(
            isinstance(digest, str) and SHA256.fullmatch(digest), f"{what}: {name} has no SHA-256 digest"
        )


def _require(condition: object, problem: str) -> None:
    if not condition:
        raise RecipeInvalid(problem, hint=HINT)
