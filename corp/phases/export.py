"""The accepted candidate as a complete checkpoint."""

from __future__ import annotations

import shutil

from corp.errors import AuditFailed
from corp.export import materialise
from corp.phases.finalists import chosen_candidate
from corp.phases.run import Run


def export_phase(run: Run) -> dict[str, object]:
    """Write RUN/checkpoint and RUN/recipe.json from the base and the chosen direction."""
    gate = run.result("gate")
    direction = chosen_candidate(run).direction
    assert direction is not None
    target = run.target / "checkpoint"
    if target.exists():  # published, but the process died before the phase was recorded
        shutil.rmtree(target)
    run.release_engine()
    prepared = run.prepared
    report = materialise(
        prepared.checkpoint,
        direction,
        prepared.spec.engine.storage or prepared.checkpoint.storage,
        target,
        shard_bytes=prepared.spec.export.shard_bytes,
        base_id=prepared.spec.model,
        revision=prepared.spec.revision,
        evaluation=gate,
        base_files=run.base_digests,
        threads=prepared.spec.engine.threads or 1,
    )
    if report.weights != gate["weights"]:
        raise AuditFailed(f"{target} does not hold the weights that passed the gate")
    shutil.copyfile(target / "recipe.json", run.target / "recipe.json")
    run.emit("checkpoint.ready", {"path": str(target), "recipe": report.recipe_digest})
    return {"recipe": report.recipe_digest, "bytes": report.bytes, "files": list(report.files)}
