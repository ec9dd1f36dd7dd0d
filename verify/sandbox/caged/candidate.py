"""One program in its own process: it is read, shut in, run, and its values written.

Runs inside the sandbox, on the standard library alone.
"""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import sys
from typing import Any

from . import cage, plain

_RESULT, _LIVES = 1, 3


def run(requests: int, results: int, lives: int, layers: list[str]) -> None:
    """Never returns."""
    try:
        program = read(requests)
        prepare(results, lives)
        if "limits" in layers:
            cage.limit(program["cpu"], program["memory"])
        cage.shut(layers)
    except BaseException as error:  # a cage that does not close runs nothing
        say(results, {"cage": f"{type(error).__name__}: {error}"})
        os._exit(3)
    say(_RESULT, outcome(program))
    os._exit(0)


def read(requests: int) -> dict[str, Any]:
    size = struct.unpack("=I", exactly(requests, 4))[0]
    program: dict[str, Any] = json.loads(exactly(requests, size))
    return program


def exactly(descriptor: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = os.read(descriptor, min(size - len(data), 1 << 20))
        if not piece:
            raise EOFError("the request ended early")
        data += piece
    return bytes(data)


def prepare(results: int, lives: int) -> None:
    """Only /dev/null, the result pipe and `lives`, whose end tells the zygote of ours, stay open."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    kept = os.dup(results)
    os.dup2(null, 0)
    os.dup2(kept, _RESULT)
    os.dup2(null, 2)
    os.dup2(lives, _LIVES)
    os.closerange(_LIVES + 1, 4096)
    sys.stdout = open(os.dup(2), "w", encoding="utf-8")  # noqa: SIM115 - lives as long as we
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    random.seed(0)
    sys.argv = [""]
    for name in [name for name in sys.modules if name.partition(".")[0] == "caged"]:
        del sys.modules[name]


def outcome(program: dict[str, Any]) -> dict[str, Any]:
    """`values`, or `raised` with what ended it."""
    try:
        space: dict[str, Any] = {"__name__": "__main__"}
        for text, name in ((program["source"], "<source>"), (program["setup"], "<setup>")):
            if text:
                exec(compile(text, name, "exec"), space)  # noqa: S102 - this is the caged process
        calls = [compile(call, "<call>", "eval") for call in program["calls"]]
        values = [plain.encode(eval(call, space)) for call in calls]  # noqa: S307 - as above
        return {"values": values}
    except MemoryError:
        return {"raised": "MemoryError", "detail": "the memory limit was reached"}
    except BaseException as error:  # SystemExit and KeyboardInterrupt are the program's own doing
        return {"raised": type(error).__name__[:80], "detail": described(error)}


def described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:500]
    except BaseException:  # its __str__ is the program's too
        return type(error).__name__[:80]


def say(descriptor: int, answer: dict[str, Any]) -> None:
    try:
        data = json.dumps(answer).encode()
    except MemoryError:
        data = b'{"raised": "MemoryError", "detail": "the memory limit was reached"}'
    while data:
        data = data[os.write(descriptor, data) :]
