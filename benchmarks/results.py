"""Every consolidation method on a real model, SmolLM2-135M-Instruct, with the rows a sceptic would ask for.

    python -m benchmarks.results --model DIR --votes [--tasks larger second_item reverse_words] [--out DIR]
    python -m benchmarks.results --model DIR --size 96 --seeds 0 1 --arms top1 corp es response default

One population of 48 (or --size) per task and search seed, scored on 96 support prompts, is consolidated by
every operator; each takes its step on the same 96 select prompts (at most eight steps, or as many trials) and
is judged once on 512 test prompts that nothing was chosen on. With --votes also: a vote of the best eight
members, and one of eight samples of the base. With arm `default`, its paired differences to the others over
all searches follow. Everything is kept in DIR, the same call continues there.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arms import Arm, Outcome, compare, opened
from corp.gate import decide
from corp.phases.controls import Controls
from corp.spec import JobSpec, parse, read_yaml

TASKS = Path(__file__).parents[1] / "examples" / "tasks"
SPLITS = {"support": 96, "select": 96, "gate": 30, "test": 512}
ONE_MEAN = {"q": [0.5], "beta": [5, 20], "scales": [2, 3, 4, 6]}
RADII = {"q": [0.5], "beta": [20], "radii": [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 2.5]}
LOCAL = {"mode": "local", "rounds": 1, "population": 24}

ARMS = (
    Arm("top1", "top1"),
    Arm("reward_mean", "reward_mean", ONE_MEAN),
    Arm("corp", "corp", ONE_MEAN),
    Arm("es", "es", RADII),
    Arm("response", "response", RADII),
    Arm("greedy", "greedy", {"evaluations": 8, "radii": [0.75, 1, 1.25, 1.5]}),
    Arm("random_mean", "random_mean", RADII),
    Arm("recentered", "response", RADII, recenter=LOCAL),
    Arm("default", "es corp", ONE_MEAN | {"radii": RADII["radii"]}),
)


def job(task: str, model: Path, size: int, seed: int) -> JobSpec:
    values: dict[str, Any] = {
        "name": task,
        "model": str(model),
        "task": read_yaml(TASKS / f"{task}.yaml") | {"splits": SPLITS},
        "population": {"size": size, "seed": seed, "sigmas": [0.004, 0.006, 0.01]},
        "engine": {"threads": 2},
        "controls": {"k": [8]},
    }
    return parse(values, task)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="directory of SmolLM2-135M-Instruct")
    parser.add_argument("--tasks", nargs="*", default=["larger", "second_item", "reverse_words"])
    parser.add_argument("--out", type=Path, default=Path("runs/results"), help="where scores are kept")
    parser.add_argument("--arms", nargs="*", help="which operators; default all")
    parser.add_argument("--size", type=int, default=48, help="candidates (default 48)")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0], help="of the populations (default 0)")
    parser.add_argument("--votes", action="store_true", help="also the votes of members and of the base")
    arguments = parser.parse_args()
    arms = [a for a in ARMS if not arguments.arms or a.name in arguments.arms]
    searches = []
    for task, seed in product(arguments.tasks, arguments.seeds):
        spec = job(task, arguments.model, arguments.size, seed)
        target = arguments.out / f"{task}-{arguments.size}-{seed}"
        outcomes = compare(spec, TASKS, target, arms, tell)
        searches.append(outcomes)
        votes = controls(spec, target) if arguments.votes else []
        print(table(f"{task}, seed {seed}", [*rows(outcomes), *votes]), flush=True)
    print(differences(searches))


def differences(searches: Sequence[Sequence[Outcome]]) -> str:
    """The default's gain over each other arm, all searches' test prompts together, p by the sign test."""
    from scipy.stats import binomtest

    passed = {
        column[0].arm: np.concatenate([outcome.candidate for outcome in column])
        for column in zip(*searches, strict=True)
    }
    lines = ["\n| default less | points | only default right | only the other | p |", "|---|---|---|---|---|"]
    mine = passed.pop("default", None)
    for arm, theirs in passed.items() if mine is not None else ():
        more, fewer = int((mine & ~theirs).sum()), int((theirs & ~mine).sum())
        p = binomtest(more, more + fewer).pvalue if more + fewer else 1.0
        points = 100 * (more - fewer) / len(theirs)
        lines.append(f"| {arm} | {points:+.2f} | {more} | {fewer} | {p:.1g} |")
    return "\n".join(lines)


def rows(outcomes: list[Outcome]) -> Iterator[dict[str, Any]]:
    for outcome in outcomes:
        decision = decide(outcome.base, outcome.candidate)
        yield {
            "name": outcome.arm,
            "score": decision.candidate,
            "difference": decision.gain,
            "interval": decision.interval,
            "fixes": decision.fixes,
            "regressions": decision.regressions,
            "n": decision.n,
            "step": outcome.chosen.sigma,
            "select": outcome.select,
            "passes": 1,
        }


def controls(spec: JobSpec, target: Path) -> list[dict[str, Any]]:
    """Votes of members and of samples of the base, on the same test prompts."""
    run = opened(spec, TASKS, target / "shared", tell)
    try:
        table = Controls(run)
        table.baseline()
        table.votes()
        table.self_consistency()
        table.labels()
        return [row for row in table.rows if row["name"] != "top1"]
    finally:
        run.close()


def table(task: str, rows: list[dict[str, Any]]) -> str:
    lines = [
        f"\n{task}, n = {rows[0]['n']}",
        "| method | score | gain | 95 % interval | fixes | regressions | passes | steps tried | length |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: -row["score"]):
        low, high = (100 * value for value in row["interval"])
        lines.append(
            f"| {row['name']} | {100 * row['score']:.1f} | {100 * row['difference']:+.1f} |"
            f" {low:+.1f} … {high:+.1f} | {row['fixes']} | {row['regressions']} | {row['passes']} |"
            f" {row.get('select', '–')} | {row.get('step', 0) or '–'} |"
        )
    return "\n".join(lines)


def tell(event: str, data: Mapping[str, object]) -> None:
    if event != "phase.progress":
        print(event, dict(data), flush=True)
    elif isinstance(done := data["done"], int) and done % 960 == 0:
        print(data["phase"], data["split"], done, data["total"], data["eta_seconds"], flush=True)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
