"""docs/tasks.md says what the code does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from verify import KINDS, verifier
from verify.data import DataSpec
from verify.generators import GENERATORS, generator
from verify.registry import parameters
from verify.task import TaskSpec, load_task, parse_task
from verify.verdict import Fault

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def shown() -> dict[str, dict[str, Any]]:
    parsed = [yaml.safe_load(block) for block in blocks("yaml")]
    return {block["verifier"]["kind"]: block for block in parsed if "item" in block}


def test_every_kind_is_shown() -> None:
    assert sorted(shown()) == sorted(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_examples_of_a_kind_are_judged_as_written_and_its_parameters_are_named(kind: str) -> None:
    example = shown()[kind]
    params = {name: value for name, value in example["verifier"].items() if name != "kind"}
    judge = verifier(kind, **params)
    for value, completions in ((1, example["right"]), (0, example["wrong"])):
        for completion in completions:
            verdict = judge(example["item"], completion)
            assert (verdict.value, verdict.valid) == (value, True), completion
    judge.close()
    section = TEXT.partition(f"### {kind}\n")[2].partition("\n##")[0]
    assert all(name in section for name in parameters(kind) if name != "max_chars")


def test_the_first_task_loads_and_every_form_of_data_parses() -> None:
    first = yaml.safe_load(blocks("yaml")[0])
    assert load_task(parse_task(first), Path()).check().oracle == 1
    for block in blocks("json"):
        TypeAdapter(DataSpec).validate_python(json.loads(block))


def test_the_python_example_runs() -> None:
    (source,) = blocks("python")
    source += "assert verdict.value == 1 and report.oracle == 1"
    subprocess.run([sys.executable, "-W", "error", "-c", source], check=True, cwd=ROOT)


def test_fields_generators_and_errors_are_all_in_their_tables() -> None:
    for name in (*TaskSpec.model_fields, *GENERATORS, *Fault):
        assert f"| `{name}` |" in TEXT, name
    for name in GENERATORS:
        row = next(line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |"))
        family = generator(name)
        assert f"| {family.size:,} |" in row
        assert all(f"`{parameter}`" in row for parameter in type(family).model_fields)
        assert all(f"`{field}`" in row for field in family.row(0, 0))
