"""All probes on one task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from verify.hackability import answers, blind, code, steadiness
from verify.hackability.bench import PATIENCE, Bench, Stuck
from verify.hackability.report import Finding, Report, Status
from verify.hackability.rows import refuse_bad_rows

if TYPE_CHECKING:
    from verify.task import Task

PROBES: tuple[Callable[[Bench], Finding], ...] = (
    answers.oracle,
    answers.decorated,
    blind.junk,
    answers.constant,
    blind.echo,
    blind.dump,
    blind.hedge,
    blind.other,
    code.exploits,
    code.lookup,
)
"""What a verifier's scores must keep to, in the report's order; `steadiness` asks the rest."""


def examine(task: Task) -> Report:
    """The report; a failed probe is in it, not raised.

    Raises:
        VerifierRejected: a row that the verifier cannot judge at all, named.
    """
    bench = Bench.of(task, refuse_bad_rows(task.verifier, task.splits))
    nothing = _none("the verifier reads no completion: there is nothing to fool")
    return Report(
        task=task.name,
        digest=task.digest,
        kind=task.verifier.kind,
        rows=len(bench.rows) if bench else 0,
        majority=bench.majority if bench else None,
        findings=tuple(_findings(bench)) if bench else (nothing,),
    )


def _findings(bench: Bench) -> Iterator[Finding]:
    try:
        if bench.verifier.control:
            yield _none("the kind declares itself a control, whose passes have nothing to do with answers")
        else:
            for probe in PROBES:
                yield probe(bench)
        yield from steadiness.steady(bench)
    except Stuck:
        rule = f"fewer than {PATIENCE} verdicts in a row come to a limit"
        yield Finding("answers", rule, Status.FAIL, note=bench.faults[-1].verdict.detail)
    yield steadiness.valid(bench)


def _none(reason: str) -> Finding:
    return Finding("scores", "completions that know nothing do not score", Status.SKIP, note=reason)
