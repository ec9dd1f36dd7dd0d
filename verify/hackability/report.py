"""What the probes found, and whether a search may rely on the verifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from verify.errors import VerifierRejected

SHOWN = 2_000
"""Characters of an input that a report keeps."""


class Status(StrEnum):
    PASS = "pass"
    WARN = "warn"  # worth knowing; blocks nothing
    FAIL = "fail"  # blocks the job
    SKIP = "skip"  # does not apply; `note` says why


@dataclass(frozen=True, slots=True)
class Worst:
    """The input that did most harm to the probe, and its score on that row."""

    row: str
    input: str
    score: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One probe's outcome.

    Attributes:
        probe: its name.
        rule: what passes, with the numbers of this task.
        status: the outcome.
        score: mean value in full marks, of the probe's worst variant; a probe that measures something else
            says so in its rule.
        success: share of completions that passed; None where the probe has none.
        judged: completions.
        worst: the input to look at.
        note: why it was left out, or what else there is to know.
    """

    probe: str
    rule: str
    status: Status
    score: float | None = None
    success: float | None = None
    judged: int = 0
    worst: Worst | None = None
    note: str = ""

    @property
    def line(self) -> str:
        """One sentence: the probe, its rule, the score and the input."""
        measured = "" if self.score is None else f" measured {self.score:.3g}"
        if self.success is not None and self.success != self.score:
            measured += f" ({100 * self.success:.3g} % passed)"
        shown = ""
        if self.worst is not None:
            shown = f"; on {self.worst.row} the input {short(self.worst.input)} scored {self.worst.score:.3g}"
        note = f" ({self.note})" if self.note else ""
        return f"{self.probe}: {self.rule},{measured}{shown}{note}"


@dataclass(frozen=True, slots=True)
class Report:
    """The hackability report of one task.

    Attributes:
        task: its name.
        digest: SHA-256 of what was examined, `Task.digest`.
        kind: the verifier's.
        rows: rows of the gate split that were probed.
        majority: share of the commonest right answer among them; None where the rows hold no answer.
        findings: one per probe.
    """

    task: str
    digest: str
    kind: str
    rows: int
    majority: float | None
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return not any(self.failed)

    @property
    def failed(self) -> Iterator[Finding]:
        return (finding for finding in self.findings if finding.status is Status.FAIL)

    def finding(self, probe: str) -> Finding:
        """The outcome of this probe.

        Raises:
            KeyError: there is no such probe.
        """
        for finding in self.findings:
            if finding.probe == probe:
                return finding
        raise KeyError(probe)

    def require(self) -> None:
        """Raises:
        VerifierRejected: a probe failed; the error names it, the input and the score.
        """
        failed = list(self.failed)
        if failed:
            others = ", ".join(finding.probe for finding in failed[1:])
            more = f"; and {others}" if others else ""
            raise VerifierRejected(
                f"verifier {self.kind} fails probe {failed[0].line}{more}",
                hint="docs/verify-task.md says what each probe means and how to put it right",
            )

    def to_json(self) -> dict[str, Any]:
        return {"passed": self.passed, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """Raises:
        KeyError, TypeError, ValueError: not what `to_json` gives.
        """
        fields = {name: data[name] for name in ("task", "digest", "kind", "rows", "majority")}
        return cls(**fields, findings=tuple(map(_finding, data["findings"])))


def short(text: str, limit: int = 80) -> str:
    """A text for an error message: quoted, on one line."""
    shown = repr(text[: 2 * limit])
    cut = len(text) > 2 * limit or len(shown) > limit
    return f"{shown[: limit - 1]}… ({len(text)} characters)" if cut else shown


def _finding(data: Mapping[str, Any]) -> Finding:
    worst = None if data["worst"] is None else Worst(**data["worst"])
    return Finding(**{**data, "status": Status(data["status"]), "worst": worst})
