"""Errors of tasks and verifiers, and the root of every error that CoRP raises on purpose.

CorpError
├── TaskInvalid         a task file or object that does not make sense
├── DataUnusable        data missing, empty, malformed or without the template's fields
├── TooFewRows          fewer distinct rows than the splits ask for
├── SplitOverlap        the same content stands in two splits
├── VerifierUnknown     no verifier of that kind
├── VerifierInvalid     parameters that the kind does not take
├── VerifierRejected    a verifier that fails on the task's own rows
├── ExtraMissing        an optional part that is not installed
└── SandboxUnavailable  this machine cannot hold untrusted code
"""

from __future__ import annotations

from typing import ClassVar


class CorpError(Exception):
    """Something the user can put right.

    Args:
        detail: what happened and where, one sentence.
        hint: what to do about it.
    """

    code: ClassVar[str] = "error"

    def __init__(self, detail: str, *, hint: str = "") -> None:
        super().__init__(f"{detail} – {hint}" if hint else detail)
        self.detail = detail
        self.hint = hint


class TaskInvalid(CorpError):
    code = "task_invalid"


class DataUnusable(CorpError):
    code = "data_unusable"


class TooFewRows(CorpError):
    code = "too_few_rows"


class SplitOverlap(CorpError):
    code = "split_overlap"


class VerifierUnknown(CorpError):
    code = "verifier_unknown"


class VerifierInvalid(CorpError):
    code = "verifier_invalid"


class VerifierRejected(CorpError):
    code = "verifier_rejected"


class ExtraMissing(CorpError):
    """Args:
    what: the part that needs it, for example "verifier math".
    extra: the name in `pip install 'corp-posttrain[extra]'`.
    """

    code = "extra_missing"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs packages that are not installed", hint=f"pip install 'corp-posttrain[{extra}]'"
        )


class SandboxUnavailable(CorpError):
    code = "sandbox_unavailable"
