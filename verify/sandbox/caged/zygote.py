"""The process that programs are forked from: small, started afresh, and without a secret.

It never reads a program or an answer, so that no program can find another's in its memory: programs go
through a pipe to the process that runs them, answers through a pipe from it to ours. Its own conversation is
a byte each way and a line per program: `G` forks, `K` kills; the line says how the process ended.

Run as `python -s -P -S -B zygote.py DIRECTORY REQUESTS RESULTS CONTROL STATUS LAYER …`; the numbers are
descriptors.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

_ENVIRONMENT = {"PATH", "LANG", "PYTHONHASHSEED"}
_SAID = 500  # bytes of what keeps a cage from closing
_POLL = 0.0005, 0.02  # seconds, doubling: a process closes its end just before it ends, or runs on without


def main() -> None:
    directory, *numbers = sys.argv[1:6]
    requests, results, control, status = map(int, numbers)
    layers = sys.argv[6:]
    try:
        cage, candidate = prepared(directory, layers)
    except BaseException as error:
        say(status, {"failed": f"{type(error).__name__}: {error}"})
        return
    say(status, {"ready": True})
    while os.read(control, 1) == b"G":
        alive, lives = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            for descriptor in (control, status, alive):
                os.close(descriptor)
            cage.end_with(parent)
            candidate.run(requests, results, lives, layers)
        os.close(lives)
        ended = supervise(pid, alive, control)
        os.close(alive)
        say(status, ended)


def say(status: int, line: dict[str, Any]) -> None:
    os.write(status, json.dumps(line).encode() + b"\n")


def prepared(directory: str, layers: list[str]) -> tuple[ModuleType, ModuleType]:
    """All modules loaded, none to be found any more, no variable but ours, no rights."""
    for name in set(os.environ) - _ENVIRONMENT:  # LD_LIBRARY_PATH; what an interpreter adds for a locale
        del os.environ[name]
    sys.path.insert(0, directory)
    cage, candidate = (importlib.import_module(f"caged.{name}") for name in ("cage", "candidate"))
    importlib.import_module("caged.library").load()
    for name in [name for name in sys.modules if name.partition(".")[0] == "caged"]:
        del sys.modules[name]
    sys.path.clear()
    sys.meta_path[:] = sys.meta_path[:2]  # built in and frozen modules; no files
    if "user" in layers:
        cage.drop_user()
    gc.freeze()  # a collection in a forked process would copy every page that it marks
    return cage, candidate


def supervise(pid: int, alive: int, control: int) -> dict[str, Any]:
    """Wait for the process, kill it where we are told to or our parent is gone, and say how it ended.

    The first byte of `alive` is written before untrusted code runs: `+` where the cage is closed, `-` and the
    reason where it does not close. What the program writes there later is not read. It reads as ended when
    the process has ended, or has closed its own end and runs on.
    """
    watched, pause, said = [alive, control], _POLL[0], b""
    while True:
        readable = select.select(watched, [], [], None if alive in watched else pause)[0]
        pause = min(2 * pause, _POLL[1]) if alive not in watched else pause
        if control in readable:
            told = os.read(control, 1)
            end_group(pid)
            if not told:
                os._exit(0)
            watched.remove(control)
        if alive in readable:
            first, said = not said, said or os.read(alive, _SAID)
            if not (first and said):
                watched.remove(alive)
        if alive not in watched and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            end_group(pid)  # while its number is still its own
            _, code, usage = os.wait4(pid, 0)
            cpu = usage.ru_utime + usage.ru_stime
            return {"code": os.waitstatus_to_exitcode(code), "cpu": cpu, **cage_state(said)}


def cage_state(said: bytes) -> dict[str, Any]:
    why = said[1:].decode("utf-8", "replace") if said.startswith(b"-") else ""
    return {"caged": said.startswith(b"+"), "why": why}


def end_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for our parent, whose end ends us
    main()
