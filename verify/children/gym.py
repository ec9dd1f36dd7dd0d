"""Makes and scores items of reasoning-gym tasks. Its arguments are directories to import from.

reasoning-gym (Apache-2.0, github.com/open-thought/reasoning-gym) runs in a helper only: some generators stall
on some seeds, and some scorers raise.
"""

from __future__ import annotations

import json
import resource
import sys
from functools import lru_cache
from typing import Any

sys.path.extend(sys.argv[1:])
_MEMORY = 4 << 30  # bytes of address space; importing takes 1.3 GiB of them
resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))

import reasoning_gym  # noqa: E402

_SIZE = 10**9  # a data set makes the item of any index below its size


def answer(question: dict[str, Any]) -> dict[str, Any]:
    data = dataset(question["task"], json.dumps(question["config"]), question["seed"])
    if "index" in question:
        return {"entry": data[question["index"]]}
    return {"score": float(data.score_answer(question["answer"], question["entry"]))}


@lru_cache(maxsize=16)
def dataset(task: str, config: str, seed: int) -> Any:
    return reasoning_gym.create_dataset(task, seed=seed, size=_SIZE, **json.loads(config))
