"""What is asked of the sandbox, and what it answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """How a program ended."""

    OK = "ok"  # every call gave a plain value
    WRONG = "wrong"  # `check` only: some value is not the expected one
    EXCEPTION = "exception"  # the program or a call raised, or gave something that is no plain value
    TIMEOUT = "timeout"  # CPU or wall clock limit
    MEMORY = "memory"  # memory limit
    KILLED = "killed"  # ended by a signal: a crash of the interpreter, for example
    PROTOCOL = "protocol"  # ended without an answer, or with something that is none
    FLOOD = "flood"  # more output than allowed


class Level(StrEnum):
    """How well untrusted code is held, by what this machine offers and a self-test at first use."""

    STRICT = "strict"  # seccomp, Landlock, limits, a user without rights where we are root
    REDUCED = "reduced"  # the same without Landlock
    NONE = "none"  # not held: nothing is run


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one program, all its calls together.

    Attributes:
        cpu: CPU seconds.
        wall: seconds by the clock; on a busy machine several times the CPU seconds.
        memory: MiB of address space, the interpreter's own 40 or so included.
        output: KiB of answer.
    """

    cpu: float = 2.0
    wall: float = 6.0
    memory: int = 512
    output: int = 256

    def __post_init__(self) -> None:
        if not (0 < self.cpu <= 600 and 0 < self.wall <= 3600):
            raise ValueError(f"limits of {self.cpu} CPU seconds and {self.wall} seconds")
        if not (64 <= self.memory <= 65_536 and 1 <= self.output <= 65_536):
            raise ValueError(f"limits of {self.memory} MiB of memory and {self.output} KiB of output")


DEFAULT = Limits()


@dataclass(frozen=True, slots=True)
class Program:
    """Source text, what is run after it, and the expressions that are evaluated then, in order."""

    source: str
    calls: Sequence[str]
    setup: str = ""
    limits: Limits = field(default_factory=Limits)

    def body(self) -> bytes:
        """As the sandbox reads it."""
        text = {"source": self.source, "setup": self.setup, "calls": list(self.calls)}
        return json.dumps({**text, **asdict(self.limits)}).encode()

    def digest(self) -> bytes:
        return hashlib.sha256(self.body()).digest()


@dataclass(frozen=True, slots=True)
class Result:
    """How one program ended.

    Attributes:
        verdict: the outcome.
        values: one plain Python value per call, empty unless the outcome is `ok` or `wrong`.
        detail: a sentence for people; the program can influence its text.
        seconds: by the clock.
        level: of the sandbox that ran it.
    """

    verdict: Outcome
    values: tuple[object, ...] = ()
    detail: str = ""
    seconds: float = field(default=0.0, compare=False)
    level: Level = Level.STRICT
