"""Where untrusted Python runs: a process of its own per program, shut in before its first line.

    from verify.sandbox import evaluate
    evaluate("def f(x): return x + 1", ["f(1)", "f(2)"]).values  # (2, 3)

docs/sandbox.md says what holds it and what a machine must offer.
"""

from verify.sandbox.guard import check, evaluate, evaluate_many, level, require, shutdown
from verify.sandbox.pool import Layers, Pool
from verify.sandbox.result import Level, Limits, Outcome, Program, Result

__all__ = [
    "Layers",
    "Level",
    "Limits",
    "Outcome",
    "Pool",
    "Program",
    "Result",
    "check",
    "evaluate",
    "evaluate_many",
    "level",
    "require",
    "shutdown",
]
