"""The held-out decision: tests, levels and the rules that make a candidate accepted or not."""

from corp.gate.decision import Decision, decide

__all__ = ["Decision", "decide"]
