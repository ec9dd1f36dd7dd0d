"""What runs in the child process: one JSON question per line in, one JSON answer per line out.

Run as a script under `python -I -S`, so it imports the standard library and, when directories are named on
the command line, jsonschema from there. Each question brings a limit in CPU seconds; the kernel's profiling
timer ends the process when it is passed.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from functools import lru_cache
from typing import Any


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, whose end ends our input
    if len(sys.argv) > 1:
        sys.path.extend(sys.argv[1:])
        import jsonschema  # noqa: F401 - before "ready", so that no question pays for it
    reply({"ready": True})
    for line in sys.stdin.buffer:
        question = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, question["cpu"])
        answer = ANSWERS[question["ask"]](question)
        signal.setitimer(signal.ITIMER_PROF, 0)
        reply(answer)


def reply(answer: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def matches(question: dict[str, Any]) -> dict[str, Any]:
    try:
        pattern = re.compile(question["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        return {"bad": f"not a regular expression: {error}"}
    match = pattern.fullmatch if question["full"] else pattern.search
    return {"passed": match(question["text"]) is not None}


def conforms(question: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"passed": schema_validator(question["schema"]).is_valid(json.loads(question["text"]))}
    except Exception as error:
        return {"bad": f"the schema cannot be applied: {type(error).__name__}: {error}"}


@lru_cache(maxsize=64)
def schema_validator(schema: str) -> Any:
    import referencing.jsonschema
    from jsonschema.validators import Draft202012Validator, validator_for

    parsed = json.loads(schema)
    kind = validator_for(parsed, default=Draft202012Validator)
    # an empty registry: a reference that leaves the schema is an error, never a download
    return kind(parsed, registry=referencing.jsonschema.EMPTY_REGISTRY)


ANSWERS = {"regex": matches, "schema": conforms}

if __name__ == "__main__":
    main()
