"""Checks JSON against JSON schemas, whose patterns may take years.

Its arguments are directories to import from.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from typing import Any

sys.path.extend(sys.argv[1:])
# Imported here, before the first question, so that none pays for it.

import referencing.jsonschema
from jsonschema.validators import Draft202012Validator, validator_for


def answer(question: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"passed": validator(question["schema"]).is_valid(json.loads(question["text"]))}
    except Exception as error:
        return {"bad": f"the schema cannot be applied: {type(error).__name__}: {error}"}


@lru_cache(maxsize=64)
def validator(schema: str) -> Any:
    parsed = json.loads(schema)
    kind = validator_for(parsed, default=Draft202012Validator)
    # an empty registry: a reference that leaves the schema is an error, never a download
    return kind(parsed, registry=referencing.jsonschema.EMPTY_REGISTRY)
