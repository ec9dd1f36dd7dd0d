"""Probes with right answers, and with one and the same answer for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import sqrt

from verify.hackability.bench import Bench, Row
from verify.hackability.code import decorations, program
from verify.hackability.junk import JUNK
from verify.hackability.report import SHOWN, Finding, Status, Worst
from verify.hackability.trial import SLACK, Tally, Variant, always, tally

ORACLE = 0.99
HALF = 0.5
_TWO_SIGMA = 1.96
NOTABLE = 1 / 3
"""Share from which on one answer for all is worth a warning."""
_COMMON = 8
"""Commonest right answers that are tried as the answer to everything."""
_USUAL = ("0", "1", "2", "10", "True", "False", "yes", "no", "A", "B")
_DECORATED = (" {}", "{}\n", "\n {} \n\n", "Answer: {}")


def oracle(bench: Bench) -> Finding:
    """Rows' own answers pass."""
    rule = f"at least {ORACLE:.0%} of right answers pass"
    found = tally(bench, Variant(lambda row: row.oracle, 1.0), bench.rows)
    if found is None:
        return Finding("oracle", rule, Status.SKIP, note="the rows hold no completion that should pass")
    return _least("oracle", rule, found, ORACLE)


def decorated(bench: Bench) -> Finding:
    """Right answers pass with white space or `Answer:` around them."""
    strict = bench.verifier.format_strict or bench.allow.format_strict
    rule = f"right answers with white space or `Answer:` pass as often, to {SLACK:g}"
    plain = tally(bench, Variant(lambda row: row.oracle, 1.0), bench.some)
    if plain is None:
        return Finding("decorated", rule, Status.SKIP, note="the rows hold no completion that should pass")
    coded = any(program(row.oracle or "") for row in bench.some)
    patterns = decorations() if coded else _DECORATED
    tallies = [tally(bench, _framed(pattern), bench.some) for pattern in patterns]
    worst = min((found for found in tallies if found is not None), key=lambda found: found.success)
    finding = _least("decorated", rule, worst, plain.success - SLACK)
    finding = replace(finding, judged=sum(len(one.scores) for one in tallies if one is not None))
    if strict and finding.status is Status.FAIL:
        return replace(finding, status=Status.PASS, note="the verifier is declared format-strict")
    return finding


def constant(bench: Bench) -> Finding:
    """The best answer that is the same for all rows."""
    rule = "no answer is right for more than {limit:.3g} of the rows"
    limit = _constant_limit(bench)
    tallies = [tally(bench, Variant(always(text), limit), bench.some) for text in _same(bench)]
    found = [one for one in tallies if one is not None]
    best = max(found, key=lambda one: (one.excess, one.value))
    status = Status.WARN if best.success > NOTABLE else Status.PASS
    return Finding(
        "constant",
        rule.format(limit=limit),
        Status.FAIL if best.excess > 1e-9 else status,
        score=best.value,
        success=best.success,
        judged=sum(len(one.scores) for one in found),
        worst=best.worst if best.value > 0 else None,
    )


def _constant_limit(bench: Bench) -> float:
    if bench.allow.constant is not None:
        return bench.allow.constant + SLACK
    # of two answers that are equally common, one is right on half of the rows, give or take chance
    return HALF + _TWO_SIGMA * sqrt(HALF * HALF / len(bench.some))


def _same(bench: Bench) -> Iterator[str]:
    common = Counter(row.oracle for row in bench.rows if row.oracle is not None).most_common(_COMMON)
    labels = [_first_choices(row) for row in bench.rows[:1]]
    texts = [text for text, _ in common] + [junk.text for junk in JUNK if junk.answers]
    yield from dict.fromkeys([*texts, *_USUAL, *(text for some in labels for text in some)])


def _first_choices(row: Row) -> Sequence[str]:
    choices = row.item.get("choices")
    return [str(choice) for choice in choices][:26] if isinstance(choices, list | tuple | dict) else []


def _framed(pattern: str) -> Variant:
    return Variant(lambda row: None if row.oracle is None else pattern.replace("{}", row.oracle), 1.0)


def _least(probe: str, rule: str, found: Tally, least: float) -> Finding:
    """A finding where more is better; the input shown is one that did not pass."""
    score = min(found.scores, key=lambda score: (score.passed, score.value))
    worst = None if score.passed else Worst(score.row.where, score.text[:SHOWN], score.value)
    return Finding(
        probe,
        rule,
        Status.PASS if found.success >= least - 1e-9 else Status.FAIL,
        score=found.value,
        success=found.success,
        judged=len(found.scores),
        worst=worst,
        note="" if score.verdict.valid else score.verdict.detail,
    )
