"""One probe: completions for the rows, in several variants, and the rule that their scores must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from verify.hackability.bench import SHAPED, Bench, Row, Score
from verify.hackability.report import SHOWN, Finding, Status, Worst

SLACK = 0.02
"""Share above the limit that is still let pass, as one row in fifty may be an accident."""
LONG_ROWS = 8
"""Rows for inputs of a megabyte."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Variant:
    """What is answered to a row, None where there is nothing to say, and how often it may pass.

    `limit` is the share of rows, the slack included; `rows` the most that are tried.
    """

    text: Callable[[Row], str | None]
    limit: float
    rows: int | None = None


def always(text: str) -> Callable[[Row], str]:
    """The same to every row."""
    return lambda row: text


@dataclass(frozen=True, slots=True)
class Tally:
    """The scores of one variant."""

    variant: Variant
    scores: Sequence[Score]
    partial: float

    @property
    def value(self) -> float:
        return sum(score.value for score in self.scores) / len(self.scores)

    @property
    def success(self) -> float:
        return sum(score.passed for score in self.scores) / len(self.scores)

    @property
    def excess(self) -> float:
        """How far beyond the limit: successes at once, values beyond the credit for being half right."""
        return max(self.success, self.value - self.partial) - self.variant.limit

    @property
    def worst(self) -> Worst:
        score = max(self.scores, key=lambda score: (score.passed, score.value))
        return Worst(score.row.where, score.text[:SHOWN], score.value)


def tally(bench: Bench, variant: Variant, rows: Sequence[Row]) -> Tally | None:
    """The variant's scores; None where it has nothing to say to any row.

    Raises:
        Stuck: the verifier does not answer.
    """
    texts = ((row, variant.text(row)) for row in rows[: variant.rows])
    scores = [bench.score(row, text) for row, text in texts if text is not None]
    if not scores:
        return None
    shaped = any(score.shaped for score in scores)
    return Tally(variant, scores, max(bench.allow.partial, SHAPED if shaped else 0.0))


def tried(bench: Bench, probe: str, rule: str, variants: Iterable[Variant], nothing: str) -> Finding:
    """The probe's finding, which is that of its worst variant.

    Args:
        rule: with `{limit}` for the worst variant's limit.
        nothing: why there may be no completion to judge.
    """
    tallies = [found for variant in variants if (found := tally(bench, variant, bench.some)) is not None]
    if not tallies:
        return Finding(probe, rule.format(limit="its limit"), Status.SKIP, note=nothing)
    worst = max(tallies, key=lambda found: (found.excess, found.value))
    failed = worst.excess > _ROUNDING
    return Finding(
        probe,
        _stated(rule, worst),
        Status.FAIL if failed else Status.PASS,
        score=worst.value,
        success=worst.success,
        judged=sum(len(found.scores) for found in tallies),
        worst=worst.worst if failed or worst.value > 0 else None,
    )


def _stated(rule: str, worst: Tally) -> str:
    credit = f", values up to {worst.partial:g} more" if worst.partial else ""
    return rule.format(limit=f"{worst.variant.limit:.3g}") + credit
