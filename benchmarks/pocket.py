"""Which operator should be the default? Every one of them at equal budgets on pocket models.

    python -m benchmarks.pocket [--seeds 12] [--first 0] [--out DIR]

Each training seed gives a model of its own, stopped when it adds two-digit numbers about half right (and not
moved up the loss afterwards, which would leave a slope for the taking). Each arm scores 240 candidates on 400
support prompts, takes its step on 500 select prompts, and is judged on 2,000 test prompts. Differences are
paired over training seeds, p by the exact sign-flip test. Everything is kept in DIR, the same call continues.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.arms import Arm, Outcome, compare
from corp.spec import JobSpec, parse
from examples.pocket import train

STOPPED_AT = 0.55
ADDITION: dict[str, Any] = {
    "name": "addition",
    "data": {"generator": "addition", "seed": 0},
    "prompt": {"user": "{question}"},
    "verifier": {"kind": "exact"},
    "max_new_tokens": 4,
}

ARMS = (
    Arm("top1", "top1"),
    Arm("elite_mean", "elite_mean"),
    Arm("reward_mean", "reward_mean"),
    Arm("corp", "corp"),
    Arm("corp_paper_code", "corp_paper_code"),
    Arm("top_r", "top_r"),
    Arm("ties", "ties"),
    Arm("dare", "dare"),
    Arm("random_mean", "random_mean"),
    Arm("response", "response"),
    Arm("greedy", "greedy"),
    Arm("es", "es"),
    Arm("es or corp", "es corp"),
    Arm("corp, recentered", "corp", recenter={"mode": "local"}),
    Arm("corp, 3 rounds", "corp", recenter={"mode": "rounds", "rounds": 3}),
    Arm("es, 3 rounds", "es", recenter={"mode": "rounds", "rounds": 3}),
    Arm("es, 6 rounds", "es", recenter={"mode": "rounds", "rounds": 6}),
)


def job(model: Path) -> JobSpec:
    """The job that every arm varies: at most 32 steps of an operator are tried on select."""
    values: dict[str, Any] = {
        "name": "pocket",
        "model": str(model),
        "task": ADDITION | {"splits": {"support": 400, "select": 500, "gate": 100, "test": 2000}},
        "population": {"size": 240, "sigmas": [0.005, 0.01, 0.02]},
        "consolidate": {"q": [0.5, 0.7], "beta": [5, 20], "scales": [1, 2, 4, 8]},
        "engine": {"batch_size": 500, "threads": 1},
    }
    return parse(values, "the study's job")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=12, help="training seeds (default 12)")
    parser.add_argument("--first", type=int, default=0, help="first training seed (default 0)")
    parser.add_argument("--out", type=Path, default=Path("runs/pocket-study"), help="where scores are kept")
    parser.add_argument("--arms", nargs="*", help="which arms; default all")
    arguments = parser.parse_args()
    arms = [arm for arm in ARMS if not arguments.arms or arm.name in arguments.arms]
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    rows = [study(seed, arguments.out, arms) for seed in seeds]
    print(table(rows))


def study(seed: int, out: Path, arms: Sequence[Arm]) -> list[Outcome]:
    """All arms on the model of one training seed."""
    model = out / f"model-{seed}"
    if not model.exists():
        train(model, seed, learned=STOPPED_AT, left_at=None)
    outcomes = compare(job(model), out, out / f"seed-{seed}", arms, quiet)
    gains = {outcome.arm: round(100 * outcome.gain, 2) for outcome in outcomes}
    print(
        json.dumps({"seed": seed, "base": round(100 * float(outcomes[0].base.mean()), 2), **gains}),
        flush=True,
    )
    return outcomes


def table(rows: Sequence[Sequence[Outcome]]) -> str:
    """Gains in points, each arm's mean over the seeds, and its paired difference to top1, corp and es."""
    gains = {
        outcomes[0].arm: 100 * np.array([outcome.gain for outcome in outcomes])
        for outcomes in zip(*rows, strict=True)
    }
    budgets = {outcome.arm: (outcome.support, outcome.select) for outcome in rows[0]}
    lines = [
        "| arm | support | select | mean gain | per seed | − top1 | p | − corp | p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for arm in sorted(gains, key=lambda name: -gains[name].mean()):
        cells = [arm, *map(str, budgets[arm]), f"{gains[arm].mean():.2f}"]
        cells.append(", ".join(f"{gain:.1f}" for gain in gains[arm]))
        for other in ("top1", "corp"):
            difference = gains[arm] - gains[other] if other in gains else np.full(len(rows), np.nan)
            cells += [f"{difference.mean():+.2f}", f"{sign_flip(difference):.3f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def sign_flip(differences: npt.NDArray[np.float64]) -> float:
    """Two-sided p of "the differences are symmetric about 0", by enumeration of all signs (to 2^14)."""
    n = min(len(differences), 14)
    signs = np.array(list(product((1, -1), repeat=n)))
    sums = np.abs(signs @ differences[:n])
    return float(np.mean(sums >= abs(differences[:n].sum()) - 1e-12))


def quiet(event: str, data: Mapping[str, object]) -> None:
    del event, data


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
