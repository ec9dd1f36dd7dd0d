"""`random`: the null control, a coin that knows nothing of the answer."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import ClassVar

from pydantic import Field

from verify.kinds.kind import Grade, Kind, graded
from verify.verdict import Item


class Coin(Kind):
    """Passes with probability `p`, decided by BLAKE2b over (seed, item, completion).

    Pure like every verifier: the same completion of the same item always gets the same verdict, and any
    change of either tosses the coin anew. No method can honestly improve on it.
    """

    kind: ClassVar[str] = "random"

    p: float = Field(default=0.5, ge=0, le=1, description="probability of passing")
    seed: int = Field(default=0, ge=0, lt=2**63, description="another seed, another set of tosses")

    @property
    def control(self) -> bool:
        return True

    def grade(self, item: Item, completion: str) -> Grade:
        toss = blake2b(key=self.seed.to_bytes(8, "little"), digest_size=8)
        toss.update(json.dumps([dict(item), completion], sort_keys=True).encode())
        # 53 bits: every outcome is an exact double, and p = 1 always passes
        return graded((int.from_bytes(toss.digest(), "little") >> 11) / 2**53 < self.p)

    def oracle(self, item: Item) -> str | None:
        return None
