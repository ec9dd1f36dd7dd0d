"""Proof that the export is what passed the gate."""

from __future__ import annotations

from corp.audit import audit
from corp.phases.run import Run


def audit_phase(run: Run) -> dict[str, object]:
    """Rebuild every tensor from base and recipe, and score the gate's prompts in a fresh process."""
    run.release_engine()
    report = audit(
        run.target / "checkpoint",
        base=run.prepared.checkpoint.path,
        evidence=run.target / "gate-evidence.json",
        emit=run.emit,
        threads=run.prepared.spec.engine.threads or 1,
    )
    return report.to_json()
