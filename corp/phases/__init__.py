"""The phases of a run, one module each."""

PHASES = (
    "preflight",
    "baseline",
    "calibrate",
    "search",
    "consolidate",
    "gate",
    "controls",
    "export",
    "audit",
)
