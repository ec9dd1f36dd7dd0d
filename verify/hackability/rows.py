"""Rows that a verifier cannot judge whatever is answered, found before anything else is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from verify.errors import VerifierRejected
from verify.hackability.bench import PATIENCE, STUCK, asked, oracle_of
from verify.kinds.kind import Ungradable
from verify.kinds.likelihood import Likelihood
from verify.verdict import Fault, Item, Verdict, Verifier

Splits = Mapping[str, Sequence[Item]]
ROWS_PER_SPLIT = 64
_DATA_FAULTS = (Fault.ITEM_FIELD, Fault.ITEM_VALUE)


def refuse_bad_rows(verifier: Verifier, splits: Splits) -> float:
    """Looks at the fields of all rows, and has up to 64 of each split judged.

    Returns:
        the median time of a verdict in seconds.

    Raises:
        VerifierRejected: a row lacks what the verifier reads from it, or no verdict at all was valid.
    """
    _refuse_missing_fields(verifier, splits)
    if isinstance(verifier, Likelihood):
        _refuse_unscorable(verifier, splits)
        if verifier.inner is None:  # nothing that a model writes is judged
            return 0.0
        verifier = verifier.inner
    verdicts = _verdicts(verifier, splits)
    _refuse_unjudged(verifier, verdicts)
    return median(verdict.latency_ms for verdict in verdicts) / 1e3


def _verdicts(verifier: Verifier, splits: Splits) -> list[Verdict]:
    """Of the rows' own answers.

    Raises:
        VerifierRejected: a row makes no sense to the verifier.
    """
    verdicts: list[Verdict] = []
    for split, items in splits.items():
        for number, item in enumerate(items[:ROWS_PER_SPLIT]):
            answer = oracle_of(verifier, item)
            verdict = asked(verifier, item, "0" if answer is None else answer)
            if verdict.error in _DATA_FAULTS:
                raise _rejected(verifier, f"{split} row {number}", verdict.detail)
            verdicts.append(verdict)
            if len(verdicts) == PATIENCE and all(one.error in STUCK for one in verdicts):
                return verdicts
    return verdicts


def _refuse_unjudged(verifier: Verifier, verdicts: list[Verdict]) -> None:
    errors = Counter(verdict.error for verdict in verdicts if verdict.error is not None)
    if errors.total() == len(verdicts):
        counted = ", ".join(f"{error} × {count}" for error, count in errors.most_common())
        raise VerifierRejected(
            f"verifier {verifier.kind} judged none of {len(verdicts)} trial completions: {counted}",
            hint=f"the first said: {verdicts[0].detail}",
        )


def _refuse_missing_fields(verifier: Verifier, splits: Splits) -> None:
    """Over all rows: this needs no trial."""
    for split, items in splits.items():
        for number, item in enumerate(items):
            for name in verifier.fields:
                if item.get(name) is None:
                    raise _rejected(verifier, f"{split} row {number}", f"the item has no field {name!r}")


def _refuse_unscorable(verifier: Likelihood, splits: Splits) -> None:
    for split, items in splits.items():
        for number, item in enumerate(items):
            try:
                verifier.continuations(item)
            except Ungradable as fault:
                raise _rejected(verifier, f"{split} row {number}", str(fault)) from None


def _rejected(verifier: Verifier, where: str, detail: str) -> VerifierRejected:
    fields = " and ".join(verifier.fields) or "no field"
    return VerifierRejected(
        f"{where} cannot be judged by verifier {verifier.kind}: {detail}",
        hint=f"{verifier.kind} reads {fields} of every row",
    )
