"""Errors of a run: what the spec, the recipe or the disk got wrong.

CorpError (verify.errors)
├── SpecInvalid         a field of the job spec is wrong
├── OutputUnusable      the run directory is not empty, not ours or not writable
├── DiskFull            not enough room for what the job will write (population.errors)
├── RunMissing          a directory that holds no run where one is needed
├── RunChanged          a run directory is resumed with a different spec
├── RunUnfinished       a run is asked for what it has not found yet
├── Paused              too many invalid verdicts: mend the verifier, then the run continues
├── CalibrationFailed   no sigma moves the model by the stated displacement
├── OperatorInvalid     an operator that does not exist, or scores and settings it cannot work with
├── NoSignal            every candidate has the same reward: nothing to consolidate
├── GateInvalid         scores that cannot be compared, or a level that is not one
├── GateTooSmall        a gate split on which nothing could be shown
├── GateSpent           the gate split was used for other candidates, or its level is used up
├── GuardInvalid        a guard task that is missing or too small for its margin
├── RecipeInvalid       a recipe that does not describe its base
├── AuditFailed         the export is not what the recipe says or does not score what it scored
└── Cancelled           the user asked the run to stop
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from population.errors import DiskFull as DiskFull
from verify.errors import CorpError


class SpecInvalid(CorpError):
    code = "spec_invalid"


class OutputUnusable(CorpError):
    code = "output_unusable"


class RunMissing(CorpError):
    code = "run_missing"


class RunChanged(CorpError):
    code = "run_changed"


class RunUnfinished(CorpError):
    code = "run_unfinished"


class Paused(CorpError):
    """Args:
    folder: run directory of the task whose verdicts they are, a guard's own for a guard.
    facts: what there is to say, JSON-like: phase, task and the fields of `population.validity.Shortfall`.
    """

    code = "paused"

    def __init__(self, detail: str, *, hint: str, folder: Path, facts: Mapping[str, object]) -> None:
        super().__init__(detail, hint=hint)
        self.folder = folder
        self.facts = dict(facts)


class CalibrationFailed(CorpError):
    code = "calibration_failed"


class OperatorInvalid(CorpError):
    code = "operator_invalid"


class NoSignal(CorpError):
    code = "no_signal"


class GateInvalid(CorpError):
    code = "gate_invalid"


class GateTooSmall(CorpError):
    code = "gate_too_small"


class GateSpent(CorpError):
    code = "gate_spent"


class GuardInvalid(CorpError):
    code = "guard_invalid"


class RecipeInvalid(CorpError):
    code = "recipe_invalid"


class AuditFailed(CorpError):
    code = "audit_failed"


class Cancelled(CorpError):
    code = "cancelled"
