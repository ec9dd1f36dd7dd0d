"""Runs inside reasoning-gym's environment: what our adapter makes of the library, as JSON."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from verify import verifier
from verify.adapters.gym import LISTED, Listed, rows
from verify.task import load_task, parse_task

STYLES = (
    "{}",
    " {}\n",
    "Answer: {}",
    "The answer is {}.",
    "Let me see.\n<answer> {} </answer>",
    "it is = {}",
)
CHAIN = {"min_digits": 4, "max_digits": 4}


def measured(task: str) -> dict[str, Any]:
    """Mean values of right answers in every style and of probes that know nothing."""
    judge = verifier("gym")
    made = list(rows(task, LISTED[task].config, 0, 100))
    majority, times = Counter(row["answer"] for row in made).most_common(1)[0]
    probes = {
        **{style: [style.format(row["answer"]) for row in made] for style in STYLES},
        "echo": [row["question"] for row in made],
        "majority": [majority] * len(made),
        "junk": ["\0", "x" * 100_000, "9" * 5000, "1e999999999", "<answer>" * 5000] * (len(made) // 5),
        "other": [row["answer"] for row in made[1:] + made[:1]],
        "dump": [" ".join(map(str, range(1000)))] * len(made),
    }
    verdicts = {
        name: [judge(row, text) for row, text in zip(made, texts, strict=False)]
        for name, texts in probes.items()
    }
    judge.close()
    return {
        "rows": len(made),
        "distinct": len({row["question"] for row in made}),
        "majority": times / len(made),
        "invalid": sum(not verdict.valid for given in verdicts.values() for verdict in given),
        "values": {
            name: sum(verdict.value for verdict in given) / len(given) for name, given in verdicts.items()
        },
    }


def questions(task: str, config: dict[str, Any], seed: int, count: int) -> list[str]:
    return [row["question"] for row in rows(task, {**LISTED[task].config, **config}, seed, count)]


def stalled() -> list[int]:
    """The library's numbers of the items made of a generator that takes 18 s for number 163."""
    LISTED["number_sequence"] = Listed({}, {})  # type: ignore[index]  # left off the list for that
    made = list(rows("number_sequence", {}, 0, 150))
    return [row["metadata"]["source_index"] for row in made]


def loaded() -> dict[str, Any]:
    spec = parse_task(
        {
            "name": "legs",
            "data": {"gym": "leg_counting", "seed": 3},
            "prompt": {"user": "{question}"},
            "verifier": {"kind": "gym"},
            "splits": {"support": 40, "select": 40, "gate": 60, "test": 60},
        }
    )
    first, second = load_task(spec, Path()), load_task(spec, Path())
    report = first.check()
    return {
        "same": first.digest == second.digest,
        "oracle": report.finding("oracle").success,
        "questions": [item["question"] for items in first.splits.values() for item in items],
    }


def main() -> None:
    found = {
        "tasks": {task: measured(task) for task in LISTED},
        "seeds": [questions("chain_sum", CHAIN, seed, 300) for seed in (0, 1, 0)],
        "few": len(questions("products", {}, 0, 5000)),
        "loaded": loaded(),
        "stalled": stalled(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
