"""RUN/paused.json: on which split a run stopped because its verifier could not judge.

While it is there, the next scoring of that split judges once more what could not be judged. Without it a
resumed run repeats no verdict, so that one which was merely killed ends as if it had not been.
"""

from __future__ import annotations

import json
from pathlib import Path

from corp.errors import Paused
from population.publish import publish_json

NAME = "paused.json"


def note(error: Paused) -> None:
    """Put the pause on record, beside the scores that it is about."""
    publish_json(error.folder / NAME, error.facts)


def on(folder: Path, split: str) -> bool:
    """Whether the last run stopped on this split of the folder's task."""
    try:
        facts = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(facts, dict) and facts.get("split") == split


def lift(folder: Path, split: str) -> None:
    """Forget the pause once the split has been scored."""
    if on(folder, split):
        (folder / NAME).unlink()
