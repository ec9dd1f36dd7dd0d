"""The same every time, in time, and whoever asks at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from verify.hackability.bench import Bench, Row, Score
from verify.hackability.junk import JUNK
from verify.hackability.report import SHOWN, Finding, Status, Worst, short

THREADS = 32
SECONDS = 1.0
"""Time limit where a verifier states none."""
SHARE = 1 / 5
_TRIALS = 192
_JUNK_ROWS = 6
_RETRIES = 3
"""Further tries of a slow verdict; the quickest counts, as a busy machine is not the verifier's fault."""

Said = tuple[float, bool, bool | None, str | None, tuple[tuple[str, float], ...]]


def valid(bench: Bench) -> Finding:
    """No verdict that any probe got was a failure of the verifier."""
    share = len(bench.faults) / max(1, bench.judged)
    rule = "every completion gets a valid verdict"
    if not bench.faults:
        return Finding("valid", rule, Status.PASS, score=1.0, judged=bench.judged)
    first = bench.faults[0]
    return Finding(
        "valid",
        rule,
        Status.FAIL,
        score=1 - share,
        judged=bench.judged,
        worst=_worst(first),
        note=f"{len(bench.faults)} of {bench.judged} failed, the first with {first.verdict.error}: "
        f"{short(first.verdict.detail, 200)}",
    )


def steady(bench: Bench) -> tuple[Finding, Finding, Finding]:
    """Asked again, asked by 32 threads at once, and the time that it takes."""
    first = [bench.score(*trial) for trial in _trials(bench)]
    again = [bench.judge(score.row, score.text) for score in reversed(first)][::-1]
    with ThreadPoolExecutor(THREADS) as threads:
        at_once = list(threads.map(lambda score: bench.judge(score.row, score.text), first))
    return (
        _same("twice", "the same completion gets the same verdict again", first, again),
        _same("parallel", f"{THREADS} threads at once get the same verdicts", first, at_once),
        _quick(bench, first),
    )


def _trials(bench: Bench) -> list[tuple[Row, str]]:
    """Long junk on one row, right answers, other junk on a few rows."""
    rows = bench.some
    long = [(rows[0], junk.text) for junk in JUNK if junk.long]
    right = [(row, row.oracle) for row in rows if row.oracle is not None]
    wrong = [(row, junk.text) for row in rows[:_JUNK_ROWS] for junk in JUNK if not junk.long]
    return [*long, *right[: _TRIALS // 2], *wrong][: max(len(long), min(_TRIALS, 4 * len(rows)))]


def _said(score: Score) -> Said:
    verdict = score.verdict
    parts = tuple(sorted(verdict.components.items()))
    return verdict.value, verdict.valid, verdict.success, verdict.error, parts


def _same(probe: str, rule: str, first: Sequence[Score], second: Sequence[Score]) -> Finding:
    differing = [pair for pair in zip(first, second, strict=True) if _said(pair[0]) != _said(pair[1])]
    share = 1 - len(differing) / len(first)
    if not differing:
        return Finding(probe, rule, Status.PASS, score=share, judged=len(first))
    one, another = differing[0]
    note = f"{_short_verdict(one)}, then {_short_verdict(another)}"
    return Finding(probe, rule, Status.FAIL, share, judged=len(first), worst=_worst(another), note=note)


def _quick(bench: Bench, scores: Sequence[Score]) -> Finding:
    limit = float(bench.verifier.params.get("timeout") or SECONDS) * SHARE
    taken = sorted(((_seconds(bench, score, limit), number) for number, score in enumerate(scores)))
    seconds, number = taken[math.ceil(0.99 * len(taken)) - 1]
    return Finding(
        "latency",
        f"99 % of verdicts take at most {limit:.3g} s, a fifth of the time limit",
        Status.PASS if seconds <= limit else Status.FAIL,
        score=seconds,
        judged=len(scores),
        worst=None if seconds <= limit else _worst(scores[number]),
    )


def _seconds(bench: Bench, score: Score, limit: float) -> float:
    taken = score.verdict.latency_ms / 1e3
    for _ in range(_RETRIES):
        if taken <= limit:
            break
        taken = min(taken, bench.judge(score.row, score.text).verdict.latency_ms / 1e3)
    return taken


def _worst(score: Score) -> Worst:
    return Worst(score.row.where, score.text[:SHOWN], score.value)


def _short_verdict(score: Score) -> str:
    return score.verdict.error or f"{score.verdict.value:g}"
