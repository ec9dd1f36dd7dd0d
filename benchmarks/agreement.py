"""Kind `math` against math-verify as a scorer of its own, on GSM8K and MATH-500 in ten answer styles a row.

``python -m benchmarks agreement`` prints per style how often both agree, and every way in which they do not,
with examples. Takes some ten minutes. The data lie beside the repository, in ``../shared/data``.
"""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from verify import verifier

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = {"GSM8K": ("gsm8k/train.jsonl", "gsm8k/test.jsonl"), "MATH-500": ("math500/test.jsonl",)}
MARKS = {"GSM8K": "####", "MATH-500": "The answer is: "}
STYLES: Mapping[str, str] = {
    "box": r"We add and get $\boxed{%(a)s}$.",
    "mark": "We add and get it.\n#### %(a)s",
    "sentence": "We add. The answer is $%(a)s$.",
    "label": "We add.\n**Answer:** %(a)s",
    "bare": "$%(a)s$",
    "dressed": r"\[\boxed{\displaystyle %(a)s.}\]",
    "money": r"It costs $\boxed{\$%(a)s}$ in all.",
    "wrong": r"We add and get $\boxed{%(b)s}$.",
    "hedged": r"It is $\boxed{%(a)s}$ or $\boxed{%(b)s}$.",
    "corrected": r"First $\boxed{%(b)s}$. I made a mistake: $\boxed{%(a)s}$.",
}
EXAMPLES = 6

Row = tuple[str, str]
"""A right answer and a wrong one."""


def main(_model: Path | None = None) -> dict[str, Counter[tuple[str, bool, bool]]]:
    """Print and return, per data set, counts of (style, right to us, right to math-verify)."""
    if not DATA.is_dir():
        print(f"skipped: {DATA} is not there")
        return {}
    logging.disable(logging.WARNING)
    tables = {}
    for name in FILES:
        rows = list(answers(name))
        tables[name], examples = compare(rows)
        print(f"\n{name}, {len(rows)} rows\n{'style':<12}{'agree':>8}{'only we':>9}{'only they':>11}")
        for style in STYLES:
            count = {pair: tables[name][style, *pair] for pair in ((True, False), (False, True))}
            agree = len(rows) - sum(count.values())
            print(f"{style:<12}{agree:>8}{count[True, False]:>9}{count[False, True]:>11}")
        for (style, ours, _), shown in sorted(examples.items()):
            print(
                f"{style}, right to {'us' if ours else 'math-verify'} alone: {'  |  '.join(shown)}",
                flush=True,
            )
    return tables


def answers(name: str) -> Iterator[Row]:
    """Final answers, each with its first digit raised by one, or with "+1" where it has none."""
    for file in FILES[name]:
        for line in (DATA / file).read_text(encoding="utf-8").splitlines():
            right = json.loads(line)["answer"].rpartition(MARKS[name])[2].strip()
            yield right, raised(right)


def raised(answer: str) -> str:
    place = next((place for place, letter in enumerate(answer) if letter.isdigit()), None)
    if place is None:
        return f"{answer}+1"
    return f"{answer[:place]}{(int(answer[place]) + 1) % 10}{answer[place + 1 :]}"


def compare(
    rows: list[Row],
) -> tuple[Counter[tuple[str, bool, bool]], dict[tuple[str, bool, bool], list[str]]]:
    ours, counts = verifier("math"), Counter[tuple[str, bool, bool]]()
    examples: dict[tuple[str, bool, bool], list[str]] = defaultdict(list)
    for right, wrong in rows:
        for style, template in STYLES.items():
            completion = template % {"a": right, "b": wrong}
            pair = ours({"answer": right}, completion).value == 1, theirs(right, completion)
            counts[style, *pair] += 1
            if pair[0] != pair[1] and len(examples[style, *pair]) < EXAMPLES:
                examples[style, *pair].append(repr(right))
    ours.close()
    return counts, examples


def theirs(right: str, completion: str) -> bool:
    """As its own documentation uses it."""
    from math_verify import parse, verify

    return bool(verify(parse(f"${right}$"), parse(completion)))


if __name__ == "__main__":
    main()
