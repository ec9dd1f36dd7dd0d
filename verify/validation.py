"""Trying a verifier on a task's own rows before any model time is spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from verify.errors import VerifierRejected
from verify.kinds.kind import Ungradable
from verify.kinds.likelihood import Likelihood
from verify.verdict import Fault, Item, Verdict, Verifier

ROWS_PER_SPLIT = 64
CONSTANTS = ("", "0")  # what a model that learned nothing might say
_DATA_FAULTS = (Fault.ITEM_FIELD, Fault.ITEM_VALUE)


@dataclass(frozen=True, slots=True)
class Validation:
    """What the trial found.

    `oracle` is the mean value of the items' own answers, None where they hold none; below 1, some rows cannot
    be answered. `constants` is the mean value of saying the same to every row; where it is high, the verifier
    can be fooled. `errors` counts the verdicts that were not valid.
    """

    rows: int
    oracle: float | None
    constants: Mapping[str, float]
    errors: Mapping[str, int]


def validate(verifier: Verifier, splits: Mapping[str, tuple[Item, ...]]) -> Validation:
    """Judges constant answers and, where items hold them, right answers on up to 64 rows of each split.

    Raises:
        VerifierRejected: no verdict at all was valid, or a row lacks what the verifier reads from it.
    """
    _refuse_missing_fields(verifier, splits)
    if isinstance(verifier, Likelihood):
        _refuse_unscorable(verifier, splits)
        if verifier.inner is None:  # nothing that a model writes is judged
            return Validation(rows=0, oracle=None, constants={}, errors={})
        verifier = verifier.inner
    trials = list(_trials(verifier, splits))
    errors = Counter(verdict.error for _, _, verdict in trials if verdict.error is not None)
    _refuse_bad_rows(verifier, trials)
    if errors.total() == len(trials):
        counted = ", ".join(f"{error} × {count}" for error, count in errors.most_common())
        raise VerifierRejected(
            f"verifier {verifier.kind} judged none of {len(trials)} trial completions: {counted}",
            hint=f"the first said: {trials[0][2].detail}",
        )
    by_probe = {probe: [verdict.value for _, name, verdict in trials if name == probe] for probe in CONSTANTS}
    oracle = [verdict.value for _, name, verdict in trials if name is None]
    return Validation(
        rows=len(by_probe[CONSTANTS[0]]),
        oracle=_mean(oracle) if oracle else None,
        constants={probe: _mean(values) for probe, values in by_probe.items()},
        errors=dict(errors),
    )


Trial = tuple[str, str | None, Verdict]
"""Where the row stands, the constant tried (None for the row's own answer), the verdict."""


def _trials(verifier: Verifier, splits: Mapping[str, tuple[Item, ...]]) -> Iterator[Trial]:
    for split, items in splits.items():
        for number, item in enumerate(items[:ROWS_PER_SPLIT]):
            where = f"{split} row {number}"
            yield from ((where, probe, verifier(item, probe)) for probe in CONSTANTS)
            answer = _oracle(verifier, item)
            if answer is not None:
                yield where, None, verifier(item, answer)


def _oracle(verifier: Verifier, item: Item) -> str | None:
    try:
        return verifier.oracle(item)
    except Exception:  # the item is at fault, and the constants' verdicts say so
        return None


def _refuse_missing_fields(verifier: Verifier, splits: Mapping[str, tuple[Item, ...]]) -> None:
    """Over all rows: this needs no trial."""
    for split, items in splits.items():
        for number, item in enumerate(items):
            for name in verifier.fields:
                if item.get(name) is None:
                    raise _rejected(verifier, f"{split} row {number}", f"the item has no field {name!r}")


def _refuse_unscorable(verifier: Likelihood, splits: Mapping[str, tuple[Item, ...]]) -> None:
    for split, items in splits.items():
        for number, item in enumerate(items):
            try:
                verifier.continuations(item)
            except Ungradable as fault:
                raise _rejected(verifier, f"{split} row {number}", str(fault)) from None


def _refuse_bad_rows(verifier: Verifier, trials: list[Trial]) -> None:
    for where, _, verdict in trials:
        if verdict.error in _DATA_FAULTS:
            raise _rejected(verifier, where, verdict.detail)


def _rejected(verifier: Verifier, where: str, detail: str) -> VerifierRejected:
    fields = " and ".join(verifier.fields) or "no field"
    return VerifierRejected(
        f"{where} cannot be judged by verifier {verifier.kind}: {detail}",
        hint=f"{verifier.kind} reads {fields} of every row",
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
