"""A grader given as Python text: it runs in the sandbox and nowhere else."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from verify.adapters.scores import NoScore, score
from verify.kinds.kind import Ungradable
from verify.verdict import Fault, Item

NAME = "grade"
_WALL_FACTOR = 3  # wall seconds per CPU second
_FAULTS = {
    "timeout": Fault.TIMEOUT,
    "killed": Fault.PROCESS,
    "protocol": Fault.PROCESS,
    "flood": Fault.RESULT,
}


@dataclass(frozen=True)
class Source:
    """`def grade(item, completion, **arguments)` and what it may take."""

    text: str
    arguments: Mapping[str, Any]
    timeout: float

    @staticmethod
    def check(text: str) -> None:
        """Refuses what is no Python or defines no `grade`; runs nothing.

        Raises:
            ValueError: with the reason.
        """
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"source is not Python: {error or type(error).__name__}") from None
        if not any(isinstance(node, ast.FunctionDef) and node.name == NAME for node in tree.body):
            raise ValueError(f"source defines no function {NAME}(item, completion)")

    def ask(self, item: Item, completion: str) -> dict[str, Any]:
        """The grade's parts, or `bad` with the reason.

        Raises:
            Ungradable: the source raised, was stopped, or gave something that is no plain value.
            SandboxUnavailable: this machine cannot hold untrusted code.
        """
        from verify.sandbox import Limits, Outcome, evaluate

        plain = json.loads(json.dumps(dict(item), allow_nan=False))
        call = f"{NAME}({plain!r}, {completion!r}, **{dict(self.arguments)!r})"
        limits = Limits(cpu=self.timeout, wall=_WALL_FACTOR * self.timeout)
        result = evaluate(self.text, [call], limits=limits)
        if result.verdict is not Outcome.OK:
            fault = _FAULTS.get(result.verdict.value, Fault.EXCEPTION)
            raise Ungradable(fault, f"source: {result.verdict}: {result.detail}")
        try:
            return asdict(score(result.values[0]))
        except NoScore as error:
            return {"bad": str(error)}
