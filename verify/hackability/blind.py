"""Probes that know no answer and therefore must not score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from verify.hackability.bench import Bench, Row
from verify.hackability.code import program
from verify.hackability.junk import JUNK
from verify.hackability.report import Finding
from verify.hackability.trial import LONG_ROWS, SLACK, Variant, always, tried

_HEDGED = 64  # right answers of other rows that are listed in one completion
_INTEGERS = " ".join(map(str, range(-20, 1_001)))
_SHIFTS = (1, 7, 31)


def junk(bench: Bench) -> Finding:
    """Blank texts, rubbish, and words that are an answer only where they are the row's."""
    none = (bench.allow.constant or 0.0) + SLACK
    some = bench.chance + SLACK
    variants = [
        Variant(always(one.text), some if one.answers else none, LONG_ROWS if one.long else None)
        for one in JUNK
    ]
    return tried(bench, "junk", "a completion that answers nothing scores at most {limit}", variants, "")


def echo(bench: Bench) -> Finding:
    """The prompt, said back; rows whose right answer is their prompt, as in copying, are left out."""
    variants = [_limited(bench, _repeated(times)) for times in (1, 2)]
    nothing = "the right answer of every row is its prompt"
    return tried(bench, "echo", "repeating the prompt scores at most {limit}", variants, nothing)


def dump(bench: Bench) -> Finding:
    """All integers, rising and falling, and each on a line."""
    falling = " ".join(reversed(_INTEGERS.split()))
    texts = (_INTEGERS, falling, _INTEGERS.replace(" ", "\n"))
    variants = [_limited(bench, always(text)) for text in texts]
    return tried(bench, "dump", "all integers from -20 to 1000 score at most {limit}", variants, "")


def hedge(bench: Bench) -> Finding:
    """Every choice of the row, or the answers of many rows; a program may define what it likes."""
    answers = list(dict.fromkeys(row.oracle for row in bench.rows if row.oracle is not None))[:_HEDGED]
    variants = [_limited(bench, _joined(answers, sign)) for sign in (" ", "\n", " or ")]
    rule = "all choices, or many rows' answers, in one completion score at most {limit}"
    return tried(bench, "hedge", rule, variants, "the rows hold neither choices nor answers to list")


def other(bench: Bench) -> Finding:
    """The right answer of another row, where that is another answer."""
    variants = [_limited(bench, _foreign(bench.rows, shift)) for shift in _SHIFTS]
    rule = "another row's answer scores at most {limit}"
    return tried(bench, "other", rule, variants, "the rows hold no two different answers")


def _limited(bench: Bench, text: Callable[[Row], str | None]) -> Variant:
    return Variant(text, bench.chance + SLACK)


def _repeated(times: int) -> Callable[[Row], str | None]:
    def text(row: Row) -> str | None:
        copied = row.oracle is not None and row.oracle.strip() == row.prompt.strip()
        return None if copied else "\n".join([row.prompt] * times)

    return text


def _joined(answers: Sequence[str], sign: str) -> Callable[[Row], str | None]:
    def text(row: Row) -> str | None:
        choices = row.item.get("choices")
        if isinstance(choices, Mapping):
            return sign.join([*map(str, choices), *map(str, choices.values())])
        if isinstance(choices, list | tuple):
            return sign.join(map(str, choices))
        coded = row.oracle is not None and program(row.oracle) is not None
        return sign.join(answers) if len(answers) > 1 and not coded else None

    return text


def _foreign(rows: Sequence[Row], shift: int) -> Callable[[Row], str | None]:
    after = {row.where: rows[(number + shift) % len(rows)] for number, row in enumerate(rows)}

    def text(row: Row) -> str | None:
        other = after[row.where]
        return None if other.key == row.key else other.oracle

    return text
