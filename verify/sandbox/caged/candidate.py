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
from types import ModuleType
from typing import Any

from . import cage, plain

_RESULT = 1
_MODULE = "solution"


def run(requests: int, results: int, lives: int, layers: list[str]) -> None:
    """Never returns. `lives` hears `+` when the cage is closed, or `-` and why it does not close."""
    try:
        program = read(requests)
        prepare(results, lives)
        if "limits" in layers:
            cage.limit(program["cpu"], program["memory"])
        cage.shut(layers)
        os.write(lives, b"+")
    except BaseException as error:
        os.write(lives, f"-{type(error).__name__}: {error}".encode())
        os._exit(1)
    say(outcome(program))
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
    os.closerange(3, lives)
    os.closerange(lives + 1, 4096)
    sys.stdout = open(os.dup(2), "w", encoding="utf-8")  # noqa: SIM115 - lives as long as we
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    random.seed(0)
    sys.argv = [""]


def outcome(program: dict[str, Any]) -> dict[str, Any]:
    """`values`, or `raised` with what ended it."""
    try:
        space = namespace()
        for text, name in ((program["source"], "<source>"), (program["setup"], "<setup>")):
            if text:
                code = compile(text, name, "exec", dont_inherit=True)
                exec(code, space)  # noqa: S102 - this is the caged process
        calls = [compile(call, "<call>", "eval", dont_inherit=True) for call in program["calls"]]
        values = [plain.encode(eval(call, space)) for call in calls]  # noqa: S307 - as above
        return {"values": values}
    except MemoryError:
        return {"raised": "MemoryError", "detail": "the memory limit was reached"}
    except BaseException as error:  # SystemExit and KeyboardInterrupt are the program's own doing
        return described(error)


def namespace() -> dict[str, Any]:
    """Of a module that can be found by name, as data classes and named tuples want, and is not `__main__`:
    what a program does when it is started as a script, such as asking for input, is not asked for."""
    module = ModuleType(_MODULE)
    sys.modules[_MODULE] = sys.modules["__main__"] = module
    return module.__dict__


def described(error: BaseException) -> dict[str, Any]:
    name = type.__dict__["__name__"].__get__(type(error))[:80]  # not what a metaclass makes of it
    try:
        detail = f"{name}: {error}"[:500]
    except BaseException:  # its __str__ is the program's too
        detail = name
    return {"raised": name, "detail": detail}


def say(answer: dict[str, Any]) -> None:
    try:
        data = json.dumps(answer).encode()
    except MemoryError:
        data = b'{"raised": "MemoryError", "detail": "the memory limit was reached"}'
    while data:
        data = data[os.write(_RESULT, data) :]
