"""The phases of a run, one module each."""

PHASES = (
    "preflight",
    "baseline",
    "calibrate",
    "search",
    "consolidate",
    "recenter",
    "gate",
    "controls",
    "diagnostics",
    "export",
    "audit",
)
