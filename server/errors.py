"""Errors of the service and the command.

CorpError (verify.errors)
├── AddressUnusable     the port is taken, or the host cannot be bound
├── RemoteRefused       a host other than loopback without --allow-remote
├── DirectoryUnusable   the data directory cannot be written
├── DataLocked          another server holds the data directory
├── DatabaseMismatch    a jobs database of another version, or a damaged one
├── JobUnknown          no such job
├── CheckpointUnknown   no such checkpoint, or no such file in it
├── TransitionRefused   what was asked for is not possible in the job's state
├── BodyUnusable        a request body that is not JSON, too large or of another media type
├── FieldsInvalid       a job spec with wrong fields (a SpecInvalid)
├── PathRelative        a relative path in a job that was sent to a server
├── GraderRefused       a job that was sent to a server names code that the server was not told to run
├── ServerUnreachable   the client cannot reach the server
├── ServerRefused       the server answered with a problem
└── LeaseLost           a worker that is no longer the owner of its job
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corp.errors import SpecInvalid
from verify.errors import CorpError


class AddressUnusable(CorpError):
    code = "address_unusable"


class RemoteRefused(CorpError):
    code = "remote_refused"


class DirectoryUnusable(CorpError):
    code = "directory_unusable"


class DataLocked(CorpError):
    code = "data_locked"


class DatabaseMismatch(CorpError):
    code = "database_mismatch"


class JobUnknown(CorpError):
    code = "job_unknown"


class CheckpointUnknown(CorpError):
    code = "checkpoint_unknown"


class TransitionRefused(CorpError):
    """Args: status: the job's status. allowed: the actions that status allows."""

    code = "transition_refused"

    def __init__(self, detail: str, *, status: str, allowed: tuple[str, ...]) -> None:
        super().__init__(detail)
        self.status = status
        self.allowed = allowed


class BodyUnusable(CorpError):
    """Args: status: the HTTP status that fits, 400, 413 or 415."""

    code = "body_unusable"

    def __init__(self, detail: str, *, status: int = 400, hint: str = "") -> None:
        super().__init__(detail, hint=hint)
        self.status = status


class FieldsInvalid(SpecInvalid):
    """Args: errors: JSON pointer and message of each wrong field."""

    def __init__(self, errors: list[dict[str, str]]) -> None:
        count = "one field" if len(errors) == 1 else f"{len(errors)} fields"
        super().__init__(f"{count} of the spec cannot be used", hint="see docs/spec.md for the fields")
        self.errors = errors


class PathRelative(CorpError):
    """Args: pointer: the field's JSON pointer."""

    code = "path_relative"

    def __init__(self, detail: str, *, pointer: str, hint: str = "") -> None:
        super().__init__(detail, hint=hint)
        self.pointer = pointer


class GraderRefused(CorpError):
    """Args: pointer: the verifier's JSON pointer."""

    code = "grader_refused"

    def __init__(self, detail: str, *, pointer: str, hint: str = "") -> None:
        super().__init__(detail, hint=hint)
        self.pointer = pointer


class ServerUnreachable(CorpError):
    code = "server_unreachable"


class ServerRefused(CorpError):
    """Args: problem: the problem details the server sent."""

    code = "server_refused"

    def __init__(self, problem: Mapping[str, Any]) -> None:
        fields = "; ".join(f"{row['pointer']}: {row['detail']}" for row in problem.get("errors", ()))
        detail = str(problem.get("detail", "the server refused the request"))
        super().__init__(f"{detail} ({fields})" if fields else detail, hint=str(problem.get("hint", "")))
        self.problem = problem


class LeaseLost(CorpError):
    code = "lease_lost"
