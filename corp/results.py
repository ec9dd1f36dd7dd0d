"""What finished phases have left in a run directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from corp.errors import RunChanged


def read_result(target: Path, name: str) -> dict[str, Any]:
    """The JSON object in RUN/NAME.json.

    Raises:
        RunChanged: it cannot be read or is no JSON object.
    """
    path = target / f"{name}.json"
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
    except (OSError, ValueError) as error:
        raise RunChanged(f"{path} is damaged: {error}", hint=f"remove it to repeat phase {name}") from None
    return value


def found_result(target: Path, name: str) -> dict[str, Any] | None:
    """As `read_result`; None where the phase has not finished."""
    return read_result(target, name) if (target / f"{name}.json").exists() else None
