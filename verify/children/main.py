"""The loop of a helper process: one JSON question per line in, one JSON answer per line out.

`python main.py SCRIPT ARGUMENT …` loads SCRIPT, which defines `answer(question) -> dict`. Each question
brings limits in CPU seconds and wall seconds; the kernel's timers end the process when one is passed, also
when the parent is gone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

Answer = Callable[[dict[str, Any]], dict[str, Any]]


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, whose end ends our input
    questions, answers = take(0, "rb"), take(1, "wb")
    del sys.argv[0]  # so that the script sees itself and its arguments
    answer = load(sys.argv[0])
    send(answers, b'{"ready": true}')
    for line in questions:
        question = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, question["cpu"])
        signal.setitimer(signal.ITIMER_REAL, question["wall"])
        reply = respond(answer, question)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(answers, reply)


def take(descriptor: int, mode: str) -> BinaryIO:
    """The pipe for ourselves: what the script prints or reads must not mix with the conversation."""
    private: BinaryIO = os.fdopen(os.dup(descriptor), mode)  # type: ignore[assignment]  # mode is binary
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.close(null)
    return private


def load(path: str) -> Answer:
    spec = importlib.util.spec_from_file_location("script", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["script"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    answer: Answer = module.answer
    return answer


def respond(answer: Answer, question: dict[str, Any]) -> bytes:
    try:
        return json.dumps(answer(question)).encode()
    except Exception as error:
        return json.dumps({"raised": f"{type(error).__name__}: {str(error)[:500]}"}).encode()


def send(answers: BinaryIO, line: bytes) -> None:
    answers.write(line + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
