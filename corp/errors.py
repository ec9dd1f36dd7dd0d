"""Errors of a run: what the spec, the recipe or the disk got wrong.

CorpError (verify.errors)
├── SpecInvalid         a field of the job spec is wrong
├── OutputUnusable      the run directory is not empty, not ours or not writable
├── DiskFull            not enough room for what the job will write
├── RunChanged          a run directory is resumed with a different spec
├── ScoresUnusable      too many invalid verdicts or no usable reward
├── RecipeInvalid       a recipe that does not describe its base
├── AuditFailed         the export is not what the recipe says or does not score what it scored
└── Cancelled           the user asked the run to stop
"""

from __future__ import annotations

from verify.errors import CorpError


class SpecInvalid(CorpError):
    code = "spec_invalid"


class OutputUnusable(CorpError):
    code = "output_unusable"


class DiskFull(CorpError):
    code = "disk_full"


class RunChanged(CorpError):
    code = "run_changed"


class ScoresUnusable(CorpError):
    code = "scores_unusable"


class RecipeInvalid(CorpError):
    code = "recipe_invalid"


class AuditFailed(CorpError):
    code = "audit_failed"


class Cancelled(CorpError):
    code = "cancelled"
