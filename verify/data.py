"""Where rows come from: a JSONL file, the spec itself, or a generator; one for all splits or one for each."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag, model_validator

from verify.adapters.gym import configured, rows
from verify.errors import DataUnusable
from verify.generators import Family, generator
from verify.strict_json import canonical, loads

SPLITS = ("support", "select", "gate", "test")
SplitName = Literal["support", "select", "gate", "test"]


class Row(NamedTuple):
    """A row and where it stands, for messages."""

    where: str
    item: dict[str, Any]


class Source(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @abstractmethod
    def read(self, folder: Path, needed: int) -> Iterator[Row]:
        """The rows, at least `needed` of them where there are as many.

        Raises:
            DataUnusable: the data cannot be read, or a row is no JSON object.
        """

    @abstractmethod
    def describe(self) -> str:
        """What to call it in an error."""


class FileSource(Source):
    """A file with one JSON object per line."""

    path: str = Field(min_length=1, description="JSONL file, relative to the task file")

    def read(self, folder: Path, needed: int) -> Iterator[Row]:
        path = folder / self.path
        try:
            if not path.is_file():
                raise DataUnusable(
                    f"{path} is not a file", hint="paths in a task are relative to the task file"
                )
            with path.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        where = f"{path}, line {number}"
                        yield Row(where, _parsed(line.removeprefix(b"\xef\xbb\xbf"), where))
        except OSError as error:
            raise DataUnusable(f"{path} cannot be read: {error.strerror}") from None

    def describe(self) -> str:
        return self.path


class RowsSource(Source):
    """Rows written into the spec."""

    rows: tuple[dict[str, JsonValue], ...] = Field(description="the rows, as objects")

    def read(self, folder: Path, needed: int) -> Iterator[Row]:
        for number, item in enumerate(self.rows):
            yield Row(f"rows[{number}]", _finite(dict(item), f"rows[{number}]"))

    def describe(self) -> str:
        return "the inline rows"


class GeneratorSource(Source):
    """Rows from a named generator, in the order of its seed."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    generator: str = Field(description="name; its own parameters stand beside it")
    seed: int = Field(default=0, ge=0, lt=2**63)

    def family(self) -> Family:
        return generator(self.generator, **self.__pydantic_extra__)

    def read(self, folder: Path, needed: int) -> Iterator[Row]:
        for number, item in enumerate(islice(self.family().rows(self.seed), needed)):
            yield Row(f"{self.describe()}, row {number}", item)

    def describe(self) -> str:
        return f"generator {self.generator}"


class GymSource(Source):
    """Rows `{question, answer, task, metadata}` of a listed reasoning-gym task."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    gym: str = Field(description="the task's name; numbers of its configuration stand beside it")
    seed: int = Field(default=0, ge=0, lt=2**31)

    @model_validator(mode="after")
    def _listed(self) -> GymSource:
        configured(self.gym, self.__pydantic_extra__)
        return self

    def read(self, folder: Path, needed: int) -> Iterator[Row]:
        config = configured(self.gym, self.__pydantic_extra__)
        for number, item in enumerate(rows(self.gym, config, self.seed, needed)):
            yield Row(f"{self.describe()}, row {number}", item)

    def describe(self) -> str:
        return f"gym {self.gym}"


_SHAPES: Mapping[str, type[Source]] = {
    "path": FileSource,
    "rows": RowsSource,
    "generator": GeneratorSource,
    "gym": GymSource,
}


def _shape(value: object) -> str | None:
    """Which of the forms below the data have."""
    if isinstance(value, BaseModel):
        return next((name for name, model in _SHAPES.items() if isinstance(value, model)), "splits")
    if not isinstance(value, Mapping):
        return None
    found = [name for name in _SHAPES if name in value]
    return found[0] if found else "splits" if set(SPLITS) & set(value) else None


_FORMS = "{path: FILE.jsonl}, {rows: [...]}, {generator: NAME, seed: 0} or {gym: TASK, seed: 0}"

AnySource = Annotated[
    Annotated[FileSource, Tag("path")]
    | Annotated[RowsSource, Tag("rows")]
    | Annotated[GeneratorSource, Tag("generator")]
    | Annotated[GymSource, Tag("gym")],
    Discriminator(_shape, custom_error_type="data_form", custom_error_message=f"a source is {_FORMS}"),
]


class SplitSources(BaseModel):
    """A source of its own for every split."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    support: AnySource
    select: AnySource
    gate: AnySource
    test: AnySource


DataSpec = Annotated[
    Annotated[FileSource, Tag("path")]
    | Annotated[RowsSource, Tag("rows")]
    | Annotated[GeneratorSource, Tag("generator")]
    | Annotated[GymSource, Tag("gym")]
    | Annotated[SplitSources, Tag("splits")],
    Discriminator(
        _shape,
        custom_error_type="data_form",
        custom_error_message=f"data is {_FORMS}, or one of these for each of {', '.join(SPLITS)}",
    ),
]


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    try:
        item = loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataUnusable(f"{where} is not UTF-8: {error.reason} at byte {error.start}") from None
    except ValueError as error:
        raise DataUnusable(f"{where} is not JSON: {error}", hint="each line is one JSON object") from None
    if not isinstance(item, dict):
        raise DataUnusable(
            f"{where} holds a {type(item).__name__}, not an object", hint="each line is one JSON object"
        )
    if b"\\ud" in line.lower():  # few lines: only an escape can spell half a character
        _whole(item, where)
    return item


def _whole(item: dict[str, Any], where: str) -> None:
    try:
        json.dumps(item, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise DataUnusable(
            f"{where} holds half of a surrogate pair, which is no character",
            hint="write the character itself, or both halves of its escape",
        ) from None


def _finite(item: dict[str, Any], where: str) -> dict[str, Any]:
    try:
        canonical(item)
    except ValueError:
        raise DataUnusable(f"{where} holds a NaN or an infinity, which JSON does not have") from None
    return item
