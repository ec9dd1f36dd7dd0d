"""Tasks of reasoning-gym that suit small models and whose scorers hold; everything else of it is refused.

Left out are tasks that reward any or a constant answer (game_of_life_halting, coin_flip, circuit_logic,
polynomial_equations), that echo or guess half right, that have no known answer, or that stall.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from verify.child import Child, import_paths
from verify.errors import DataUnusable, ExtraMissing
from verify.kinds.kind import Ungradable
from verify.verdict import Fault

_SCRIPT = Path(__file__).parents[1] / "children" / "gym.py"
STRIDE = 10**7  # item i of the library's seed s is item 0 of s + i: neighbouring seeds share almost all items
ITEM_SECONDS = 2.0  # of CPU; the slowest of the list takes a few milliseconds
MOST_STALLS = 20
MOST_REPEATS = 1_000  # items in a row that were all there already: there are no more

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Listed:
    """A task's safe configuration, and how far each number in it may be raised (the library's default)."""

    config: Config
    most: Mapping[str, int]


LISTED: Mapping[str, Listed] = {
    "basic_arithmetic": Listed(
        {
            "min_terms": 2,
            "max_terms": 3,
            "min_digits": 1,
            "max_digits": 2,
            "operators": ["+", "-"],
            "allow_parentheses": False,
            "allow_negation": False,
        },
        {"min_terms": 6, "max_terms": 6, "min_digits": 4, "max_digits": 4},
    ),
    "simple_equations": Listed({"max_terms": 2, "max_value": 20}, {"max_terms": 4, "max_value": 100}),
    "spell_backward": Listed(
        {"min_word_len": 3, "max_word_len": 4}, {"min_word_len": 10, "max_word_len": 10}
    ),
    "chain_sum": Listed(
        {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2},
        {"min_terms": 6, "max_terms": 6, "min_digits": 4, "max_digits": 4},
    ),
    "decimal_chain_sum": Listed(
        {
            "min_terms": 2,
            "max_terms": 2,
            "min_digits": 1,
            "max_digits": 1,
            "min_decimal_places": 1,
            "max_decimal_places": 1,
        },
        {
            "min_terms": 6,
            "max_terms": 6,
            "min_digits": 4,
            "max_digits": 4,
            "min_decimal_places": 4,
            "max_decimal_places": 4,
        },
    ),
    "leg_counting": Listed(
        {"min_animals": 1, "max_animals": 2, "max_instances": 4},
        {"min_animals": 10, "max_animals": 10, "max_instances": 15},
    ),
    "base_conversion": Listed(  # of 0 the library makes a question without a number and a blank answer
        {"min_value": 1, "max_base": 10, "max_value": 64}, {"max_base": 16, "max_value": 1000}
    ),
    "count_bits": Listed({"max_n": 255}, {"max_n": 2**31 - 1}),
    "gcd": Listed({"max_value": 50}, {"max_value": 1000}),
    "lcm": Listed({"max_value": 12}, {"max_value": 100}),
    "products": Listed({"min_digits": 1, "max_digits": 1}, {"min_digits": 5, "max_digits": 5}),
}


def configured(task: str, changes: Config) -> dict[str, Any]:
    """The task's configuration.

    Raises:
        ValueError: not on the list, or a change that the list does not allow.
    """
    if task not in LISTED:
        raise ValueError(f"{task!r} is not on the list of gym tasks: {', '.join(sorted(LISTED))}")
    listed = LISTED[task]
    for name, value in changes.items():
        if name not in listed.most:
            raise ValueError(f"{task} takes {', '.join(sorted(listed.most))}, not {name}")
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= listed.most[name]:
            raise ValueError(f"{name} is a whole number from 1 to {listed.most[name]}, not {value!r}")
    return {**listed.config, **changes}


def start() -> Child:
    """A helper that knows the library.

    Raises:
        ExtraMissing: it is not installed.
    """
    if find_spec("reasoning_gym") is None:
        raise ExtraMissing("reasoning-gym", "gym")
    return Child(_SCRIPT, import_paths())


def rows(task: str, config: Config, seed: int, needed: int) -> Iterator[dict[str, Any]]:
    """Different rows `{question, answer, task, metadata}`, up to `needed` of them.

    An item whose generator stalls is stopped and left out. Two seeds never share the library's seeds.

    Raises:
        ExtraMissing: the library is not installed.
        DataUnusable: the library refuses the configuration, or stalls again and again.
    """
    seen: set[str] = set()
    repeats = stalls = 0
    with closing(start()) as child:
        for index in count():
            if len(seen) == needed or repeats == MOST_REPEATS or index == STRIDE:
                return
            question = {"task": task, "config": config, "seed": seed * STRIDE, "index": index}
            try:
                entry = child.ask(question, ITEM_SECONDS)["entry"]
            except Ungradable as error:
                stalls += 1
                if error.fault is not Fault.TIMEOUT or stalls == MOST_STALLS:
                    raise DataUnusable(f"gym {task}, item {index}: {error}") from None
                continue
            repeats = repeats + 1 if entry["question"] in seen else 0
            if not repeats:
                seen.add(entry["question"])
                yield {name: entry[name] for name in ("question", "answer", "metadata")} | {"task": task}


_STATED = re.compile(r"(?i)\banswer\s*(?:is|:|=)")
_WRAPPING = "*`\"'$ \t"


def stated(completion: str) -> str:
    """The final answer: in the last `<answer>` tag, else after the last "answer is", else the last line.

    Of an equation the right-hand side; without white space, quotes and the sentence's full stop. Scorers dock
    a right answer for any of these.
    """
    body, closed, _ = completion.rpartition("</answer>")
    _, opened, tagged = body.rpartition("<answer>")
    text = tagged if closed and opened else _last(completion)
    return text.rpartition("=")[2].strip().rstrip(".!").strip(_WRAPPING).rstrip(".").strip()


def _last(completion: str) -> str:
    lines = [line for line in completion.splitlines() if line.strip()]
    for line in reversed(lines):
        found = list(_STATED.finditer(line))
        if found:
            return line[found[-1].end() :].lstrip(": ")
    return lines[-1] if lines else ""
