"""The phases of a run, one module each."""

PHASES = ("preflight", "baseline", "search", "consolidate", "gate", "export", "audit")
