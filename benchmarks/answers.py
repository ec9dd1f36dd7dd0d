"""Scoring GSM8K answers: kinds `gsm8k` and `math`, a scorer of two regular expressions, and math-verify.

``python -m benchmarks answers`` judges 100,000 completions: the data set's own solutions with an end that is
right or wrong by construction, so that what each scorer gets wrong is known. math-verify is measured on every
50th. The data lie beside the repository, in ``../shared/data``.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from verify import Verifier, verifier

DATA = Path(__file__).parents[2] / "shared" / "data" / "gsm8k"
COUNT, STEP = 100_000, 50
ENDS = ("#### {}", "#### {}.", "#### ${}", "#### {}.00", "So the answer is {}.", r"So it is $\boxed{{{}}}$.")
_NOTE = re.compile(r"<<.*?>>")
_MARKED = re.compile(r"#### (-?[0-9.,]+)")
_NUMBER = re.compile(r"-?[0-9.,]+")

Scorer = Callable[[str, str], bool]
"""Whether the completion is right, given the row's answer."""


@dataclass(frozen=True, slots=True)
class Case:
    answer: str
    completion: str
    right: bool


def main(_model: Path | None = None) -> dict[str, tuple[float, float]]:
    """Print and return CPU microseconds per answer and the share judged rightly."""
    if not DATA.is_dir():
        print(f"skipped: {DATA} is not there")
        return {}
    logging.disable(logging.WARNING)
    judges = {kind: verifier(kind) for kind in ("gsm8k", "math")}
    scorers: dict[str, tuple[Scorer, int]] = {
        **{f"kind {kind}": (judged(judge), 1) for kind, judge in judges.items()},
        "regular expressions": (patterns, 1),
        "math-verify": (algebra, STEP),
    }
    everything = list(islice(cases(), COUNT))
    table = {name: measure(scorer, everything[::step]) for name, (scorer, step) in scorers.items()}
    for judge in judges.values():
        judge.close()
    base = table["regular expressions"][0]
    print(f"{'':<22}{'µs per answer':>15}{'ratio':>9}{'judged rightly':>17}")
    for name, (spent, share) in table.items():
        print(f"{name:<22}{spent:>15.1f}{spent / base:>9.1f}{share:>17.1%}")
    return table


def cases() -> Iterator[Case]:
    """Solutions without their calculator notes; in every seventh the final number is one too high."""
    files = [DATA / name for name in ("train.jsonl", "test.jsonl")]
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    for number in range(COUNT):
        answer = rows[number % len(rows)]["answer"]
        solution, _, gold = (part.strip() for part in answer.rpartition("####"))
        right = number % 7 != 0
        stated = gold if right else str(int(gold.replace(",", "")) + 1)
        end = ENDS[number % len(ENDS)].format(stated)
        yield Case(gold, f"{_NOTE.sub('', solution)}\n{end}", right)


def measure(scorer: Scorer, chosen: list[Case]) -> tuple[float, float]:
    scorer(chosen[0].answer, chosen[0].completion)  # imports and compiled patterns
    started = time.process_time()
    judged_rightly = sum(scorer(case.answer, case.completion) == case.right for case in chosen)
    spent = time.process_time() - started
    return spent / len(chosen) * 1e6, judged_rightly / len(chosen)


def judged(judge: Verifier) -> Scorer:
    return lambda answer, completion: judge({"answer": answer}, completion).value == 1


def patterns(answer: str, completion: str) -> bool:
    """As trainers do it: the text behind the last mark, else the last number of the last 300 characters."""
    tail = completion[-300:]
    found = _MARKED.findall(tail) or [text for text in _NUMBER.findall(tail) if text not in ("", ".")]
    return bool(found) and found[-1].replace(",", "").replace("$", "") == answer.replace(",", "")


def algebra(answer: str, completion: str) -> bool:
    from math_verify import parse, verify

    return bool(verify(parse(answer), parse(completion)))


if __name__ == "__main__":
    main()
