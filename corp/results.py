"""What finished phases leave in a run directory, sealed: a file that was changed since is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corp.errors import RunChanged
from population.publish import publish_json
from verify.strict_json import canonical, loads

SEAL = "seal"


def publish_result(target: Path, name: str, result: Mapping[str, object]) -> None:
    """Write RUN/NAME.json with the SHA-256 of its content as ``seal``.

    Raises:
        ValueError: a NaN or an infinity, which JSON does not have.
        DiskFull, OSError: as `population.publish.publish_bytes`.
    """
    publish_json(target / f"{name}.json", {**result, SEAL: _seal(result)})


def read_result(target: Path, name: str) -> dict[str, Any]:
    """The JSON object in RUN/NAME.json, without its seal; one that has none is taken as it is.

    Raises:
        RunChanged: it cannot be read, is no JSON object, or is not what was written.
    """
    path = target / f"{name}.json"
    hint = f"remove it to repeat phase {name}"
    try:
        value = loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
    except (OSError, ValueError) as error:
        raise RunChanged(f"{path} is damaged: {error}", hint=hint) from None
    seal = value.pop(SEAL, None)
    if seal is not None and seal != _seal(value):
        raise RunChanged(f"{path} was changed after phase {name} wrote it", hint=hint)
    return value


def found_result(target: Path, name: str) -> dict[str, Any] | None:
    """As `read_result`; None where the phase has not finished."""
    return read_result(target, name) if (target / f"{name}.json").exists() else None


def _seal(result: Mapping[str, object]) -> str:
    """SHA-256 of the content as a reader will see it: lists for tuples, texts for every key."""
    return hashlib.sha256(canonical(json.loads(json.dumps(result)))).hexdigest()
