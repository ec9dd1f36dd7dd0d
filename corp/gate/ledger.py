"""The record of every look at the gate split, written before its first prompt is scored.

What a held-out split says is worth something once. The record makes a resume of the same look possible and
any other use of the same prompts impossible within a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corp.errors import GateSpent
from population.publish import publish_bytes

NAME = "gate-use.json"
FRESH = "a new question needs gate prompts that nothing was decided on: start a new run with other rows"


class Look(BaseModel):
    """One use.

    Attributes:
        name: of the phase or round that looked.
        round: 1 for the first look.
        level: share of alpha that it spends.
        candidates: digest of each candidate's direction by its key, in the order of registration.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    round: Annotated[int, Field(ge=1)]
    level: Annotated[float, Field(gt=0, lt=1)]
    candidates: dict[str, str]


class Ledger(BaseModel):
    """All looks at one split."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    split: str
    alpha: Annotated[float, Field(gt=0, lt=1)]
    looks: tuple[Look, ...] = ()

    def spent(self, name: str = "") -> float:
        """Level that looks other than `name` have spent."""
        return sum(look.level for look in self.looks if look.name != name)

    def entered(self, name: str, candidates: Mapping[str, str], level: float) -> Ledger:
        """The ledger with this look; the same ledger if it is there.

        Raises:
            GateSpent: the look was made with other candidates or at another level, or the levels together
                would exceed alpha.
        """
        known = next((look for look in self.looks if look.name == name), None)
        if known is not None:
            if (list(known.candidates.items()), known.level) == (list(candidates.items()), level):
                return self
            raise GateSpent(
                f"the gate split was used in look {name} for {', '.join(known.candidates)} at level"
                f" {known.level:g}; now it is asked about {', '.join(candidates)} at level {level:g}",
                hint=FRESH,
            )
        if level <= 0 or self.spent() + level > self.alpha * (1 + 1e-9):
            raise GateSpent(
                f"look {name} asks for level {level:g}; {len(self.looks)} looks at the gate split have spent"
                f" {self.spent():g} of {self.alpha:g}",
                hint=FRESH,
            )
        look = Look(name=name, round=len(self.looks) + 1, level=level, candidates=dict(candidates))
        return self.model_copy(update={"looks": (*self.looks, look)})


def read(path: Path, split: str, alpha: float) -> Ledger:
    """The ledger at `path`, or an empty one.

    Args:
        split: SHA-256 of the gate split's rows.
        alpha: level of all looks together.

    Raises:
        GateSpent: it is of other rows or another level, or cannot be read: what was used is then not known.
    """
    try:
        found = Ledger.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Ledger(split=split, alpha=alpha)
    except (OSError, ValidationError) as error:
        raise GateSpent(
            f"{path} is no record of the gate's use ({type(error).__name__}): what was used is not known",
            hint=FRESH,
        ) from None
    if (found.split, found.alpha) != (split, alpha):
        raise GateSpent(f"{path} records the use of other rows or of another level", hint=FRESH)
    return found


def enter(path: Path, ledger: Ledger, name: str, candidates: Mapping[str, str], level: float) -> Ledger:
    """Record a look durably before it is made; as `Ledger.entered`."""
    entered = ledger.entered(name, candidates, level)
    if entered is not ledger:
        publish_bytes(path, f"{entered.model_dump_json(indent=2)}\n".encode())
    return entered
