"""Whether enough verdicts are valid while candidates are scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field

from population.block import Block, Reason
from population.errors import VerdictsInvalid
from population.store import ScoreStore


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Too few valid verdicts.

    Attributes:
        split: where.
        candidate: key of the one with the most verdicts that are not valid, the first of equals.
        candidates: how many have any.
        verdicts: given so far, of all candidates.
        invalid: those of them that are not valid.
        error: the commonest `verify.verdict.Fault` among these.
        count: how often it came.
        detail: the sentence of the first of them.
    """

    split: str
    candidate: str
    candidates: int
    verdicts: int
    invalid: int
    error: str
    count: int
    detail: str

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass
class Validity:
    """The verdicts of several candidates on one split, counted block by block.

    It complains as soon as the outcome is certain, not before: a rate of the first few blocks says little
    about a search, and nothing that is generated until then is lost.

    Attributes:
        least: share of verdicts that have to be valid; 0 asks for none.
        candidates: how many are scored.
        prompts: of the split.
    """

    split: str
    least: float
    candidates: int
    prompts: int
    seen: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, list[Reason]] = field(default_factory=dict)

    def add(self, block: Block) -> None:
        """Count a block.

        Raises:
            VerdictsInvalid: fewer than ``least`` of all verdicts can still be valid, or no verdict on a whole
                candidate is.
        """
        self.count(block.candidate, len(block), list(block.faults.values()))
        self.check()

    def count(self, candidate: str, prompts: int, found: Sequence[Reason]) -> None:
        self.seen[candidate] += prompts
        if found:
            self.reasons.setdefault(candidate, []).extend(found)

    def known(self, candidate: str, store: ScoreStore, skipped: Collection[int]) -> None:
        """Count what the store has of a candidate but the blocks ``skipped``."""
        sizes = store.blocks(candidate, self.split)
        for number, found in store.unjudged(candidate, self.split).items():
            if number not in skipped:
                self.count(candidate, sizes[number], found)

    def check(self) -> None:
        """Raises: VerdictsInvalid, as ``add``."""
        total = self.candidates * self.prompts
        if total and (total - self.invalid) / total < self.least:
            share = f"{self.invalid} of {self.seen.total()} verdicts on {self.split} are not valid"
            raise self._error(f"{share}, more than {1 - self.least:.0%} of all {total}")
        for key, found in self.reasons.items():
            if self.least and len(found) == self.prompts:
                raise self._error(f"no verdict on {key} is valid on {self.split}")

    @property
    def invalid(self) -> int:
        return sum(map(len, self.reasons.values()))

    def _error(self, problem: str) -> VerdictsInvalid:
        found = self.shortfall()
        return VerdictsInvalid(
            f"{problem}; {found.count} times {found.error}: {found.detail}",
            hint="put the verifier right and run it again: completions are kept and judged once more",
            shortfall=found,
        )

    def shortfall(self) -> Shortfall:
        every = [reason for found in self.reasons.values() for reason in found]
        ((error, count),) = Counter(reason.error for reason in every).most_common(1)
        return Shortfall(
            split=self.split,
            candidate=max(self.reasons, key=lambda key: len(self.reasons[key])),
            candidates=len(self.reasons),
            verdicts=self.seen.total(),
            invalid=self.invalid,
            error=error,
            count=count,
            detail=next(reason.detail for reason in every if reason.error == error),
        )
