"""Asks graders that their owner wrote for another program.

Its arguments: the protocol, a JSON list of references (`module:object`, or `@NAME` for an entry point of the
group `corp.verifiers`), and directories to import from. What a grader prints is gone, what it raises is
the answer.
"""

from __future__ import annotations

import importlib
import inspect
import json
import random
import signal
import sys
from dataclasses import asdict
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))  # this package, for an interpreter that has it nowhere else

from verify.adapters.protocols import PROTOCOLS, Protocol, vote
from verify.adapters.scores import NoScore

GROUP = "corp.verifiers"
_IMPORT_SECONDS = 50  # below the time that a helper has to become ready


def answer(question: dict[str, Any]) -> dict[str, Any]:
    if _broken:
        raise RuntimeError(_broken)
    random.seed(0)  # a grader that draws gives the same twice
    try:
        if question.get("vote"):
            return {"vote": vote(_graders[0], question)}
        return asdict(_call(_graders, question))
    except NoScore as error:
        return {"bad": str(error)}
    except Exception:
        raise
    except BaseException as error:  # sys.exit() in a grader ends no helper
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def load(reference: str, protocol: str) -> Any:
    module, _, path = reference.partition(":")
    named = reference.startswith("@")
    found = entry(reference[1:]) if named else own(importlib.import_module(module), path, module)
    # a verifier, a handler or a rubric may be given as its class; a Task takes the row
    return found() if inspect.isclass(found) and protocol != "verifiers" else found


def own(found: Any, path: str, module: str) -> Any:
    """What the module calls by this path.

    It has to be the module's own: who may name `rewards` may not thereby name what `rewards` imports, such as
    `rewards:subprocess.run`.
    """
    for part in path.split("."):
        found = getattr(found, part)
        if inspect.ismodule(found):
            raise TypeError(f"{part} is a module: write {found.__name__}:NAME")
    home = found.__module__ if inspect.isroutine(found) or inspect.isclass(found) else module
    if (home or "").partition(".")[0] != module.partition(".")[0]:
        raise TypeError(f"{path} is defined in {home}: name it there")
    return found


def entry(wanted: str) -> Any:
    points = entry_points(group=GROUP, name=wanted)
    if not points:
        known = ", ".join(sorted(point.name for point in entry_points(group=GROUP))) or "none"
        raise LookupError(f"no entry point {wanted!r} in the group {GROUP}; there are: {known}")
    return next(iter(points)).load()


def late(*_: Any) -> None:
    raise TimeoutError(f"importing took longer than {_IMPORT_SECONDS} s")


def prepare(protocol: str, references: str, *paths: str) -> tuple[Protocol, list[Any], str]:
    """The protocol, the graders, and why they cannot be used."""
    sys.path[:0] = paths
    signal.signal(signal.SIGALRM, late)
    signal.alarm(_IMPORT_SECONDS)
    try:
        graders = [load(reference, protocol) for reference in json.loads(references)]
        if not all(callable(grader) or protocol in ("randopt", "verifiers") for grader in graders):
            raise TypeError("it cannot be called")
        return PROTOCOLS[protocol], graders, ""
    except BaseException as error:  # each question is told; a child that ends could not say why
        return PROTOCOLS[protocol], [], f"{references} cannot be used: {type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


_call, _graders, _broken = prepare(*sys.argv[1:])
