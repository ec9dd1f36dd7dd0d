"""One job from spec to report: phases are plain functions whose results are on disk before the next starts.

    preflight → baseline → calibrate → search → consolidate → recenter → gate → controls → diagnostics
    → export → audit → report

A run directory is resumed by calling `execute` again: a phase whose file exists is read, not repeated,
and inside a phase every block of scores that is in the store is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from corp import pause
from corp.errors import Cancelled, Paused
from corp.gatecheck import statement
from corp.lock import locked
from corp.phases import PHASES
from corp.phases.audit import audit_phase
from corp.phases.baseline import baseline_phase
from corp.phases.calibrate import calibrate_phase
from corp.phases.consolidate import consolidate_phase
from corp.phases.controls import controls_phase
from corp.phases.diagnose import diagnose_phase
from corp.phases.export import export_phase
from corp.phases.gate import gate_phase
from corp.phases.recenter import recenter_phase
from corp.phases.run import Run
from corp.phases.search import search_phase
from corp.preflight import assemble, claim, open_run
from corp.report import build_report
from corp.spec import JobSpec
from corp.verifiercheck import remarks
from population.errors import ScoringStopped

__all__ = ["PHASES", "Emit", "execute", "prepare"]

Emit = Callable[[str, Mapping[str, object]], None]


def prepare(spec: JobSpec, folder: Path) -> None:
    """Everything that can be refused without loading the model, for a caller that will run the job later.

    Raises:
        CorpError: the first thing that is wrong.
    """
    assemble(spec, folder).close()


def execute(
    spec: JobSpec, target: Path, *, folder: Path, emit: Emit, cancelled: Callable[[], bool]
) -> dict[str, Any]:
    """Run the job in ``target``, or resume it there, and return its report.

    Args:
        spec: the job.
        target: run directory; absent, empty, or one of the same spec.
        folder: what relative data paths of the task start from.
        emit: called with an event type and its data, from this thread and the verifying thread.
        cancelled: polled between blocks of prompts.

    Raises:
        Cancelled: ``cancelled`` returned true; what was scored is kept.
        Paused: the verifier could not judge enough; called again once that is mended, the run continues.
        CorpError: anything else that the user can put right.
    """
    prepared = assemble(spec, folder, target)
    claim(target)
    with locked(target):
        run = Run(prepared=open_run(prepared, target), target=target, emit=emit, cancelled=cancelled)
        try:
            return _phases(run)
        except Paused as error:
            pause.note(error)
            emit("scoring.paused", error.facts)
            raise
        except ScoringStopped:
            raise Cancelled(f"the run in {target} was stopped", hint="run it again to continue") from None
        finally:
            run.close()


def _forecast(run: Run, baseline: Mapping[str, Any]) -> None:
    """Say before the search what the gate will be able to show, and what a constant answer would."""
    if not run.finished("search"):
        prompts, passed = len(run.prepared.task.splits["gate"]), baseline.get("success")
        run.emit("log", {"message": statement(run.prepared.spec.final_gate(), prompts, passed)})
        for line in remarks(run.prepared.report, baseline):
            run.emit("log", {"message": line})


def _phases(run: Run) -> dict[str, Any]:
    run.phase("preflight", run.prepared.facts)
    _forecast(run, run.phase("baseline", lambda: baseline_phase(run)))
    if run.prepared.spec.population.sigmas == "auto":
        run.phase("calibrate", lambda: calibrate_phase(run))
    run.phase("search", lambda: search_phase(run))
    chosen = run.phase("consolidate", lambda: consolidate_phase(run))
    if run.prepared.spec.recenter.mode != "off":
        chosen = run.phase("recenter", lambda: recenter_phase(run))
    if chosen["chosen"] is not None:
        run.phase("gate", lambda: gate_phase(run))
    if run.prepared.spec.controls.enabled:
        run.phase("controls", lambda: controls_phase(run))
    run.phase("diagnostics", lambda: diagnose_phase(run))
    if run.finished("gate") and run.result("gate")["accepted"]:
        run.phase("export", lambda: export_phase(run))
        run.phase("audit", lambda: audit_phase(run))
    return build_report(run.target)
