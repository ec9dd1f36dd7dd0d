"""What the base model's score says about the findings, once there is one."""

from __future__ import annotations

from dataclasses import replace

from verify.hackability.report import Finding, Report, Status

CONSTANT, BASELINE = "constant", "baseline"
LEAST, MOST = 0.01, 0.95
_FLOOR = 0.1
"""Share of the rows that one answer may have however weak the base is; a base that knows nothing has less."""


def with_base(report: Report, base: float) -> Report:
    """The report with the best constant held against the base, and the base against 0 and 1.

    Args:
        base: share of prompts that the base model passes.
    """
    held = [_beaten(one, base) if one.probe == CONSTANT else one for one in report.findings]
    return replace(report, findings=(*held, _baseline(base)))


def _beaten(constant: Finding, base: float) -> Finding:
    best = constant.success or 0.0
    ahead = Status.WARN if best < _FLOOR else Status.FAIL
    rule = f"no answer is right for as many rows as the base, {base:.3g}"
    return replace(constant, rule=rule, status=Status.PASS if best < base else ahead)


def _baseline(base: float) -> Finding:
    rule = f"the base passes {100 * LEAST:g} % to {100 * MOST:g} % of the rows"
    if LEAST <= base <= MOST:
        return Finding(BASELINE, rule, Status.PASS, score=base)
    return Finding(BASELINE, rule, Status.WARN, score=base, note="it leaves a search little to see")
