"""docs/tasks.md and the pages of docs/verifiers say what the code does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from verify import KINDS, verifier
from verify.data import DataSpec
from verify.errors import ExtraMissing
from verify.generators import GENERATORS, generator
from verify.registry import parameters
from verify.task import TaskSpec, load_task, parse_task
from verify.verdict import Fault, Verdict, Verifier

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
PAGES = ROOT / "docs" / "verifiers"


def blocks(language: str, text: str = TEXT) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def page(kind: str) -> str:
    return (PAGES / f"{kind}.md").read_text(encoding="utf-8")


def examples(kind: str) -> list[dict[str, Any]]:
    parsed = [yaml.safe_load(block) for block in blocks("yaml", page(kind))]
    return [block for block in parsed if "item" in block]


def passes(verdict: Verdict) -> bool:
    assert verdict.valid, verdict.detail
    return verdict.value == 1 if verdict.success is None else verdict.success


def test_every_kind_has_a_page_and_the_index_names_each() -> None:
    assert sorted(path.stem for path in PAGES.glob("*.md")) == sorted([*KINDS, "README"])
    index = page("README")
    assert all(f"[{kind}]({kind}.md)" in index for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_names_the_kind_and_all_of_its_parameters(kind: str) -> None:
    text = page(kind)
    assert text.startswith(f"# {kind}\n")
    table = "\n".join(line for line in text.splitlines() if line.startswith("| `"))
    for name in parameters(kind):
        assert re.search(rf"^\|[^|]*`{name}`[^|]*\|", table, re.MULTILINE), name


@pytest.mark.parametrize("kind", KINDS)
def test_the_examples_of_a_page_are_judged_as_written(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # examples name the folder of example graders as a user of the checkout would
    assert kind in {example["verifier"]["kind"] for example in examples(kind)}
    for example in examples(kind):
        params = {name: value for name, value in example["verifier"].items() if name != "kind"}
        try:
            judge = verifier(example["verifier"]["kind"], **params)
        except ExtraMissing as missing:
            pytest.skip(str(missing))
        try:
            _check(judge, example)
        finally:
            judge.close()


def _check(judge: Verifier, example: Mapping[str, Any]) -> None:
    for right, completions in ((True, example["right"]), (False, example["wrong"])):
        for completion in completions:
            assert passes(judge(example["item"], completion)) is right, completion


def test_the_first_task_loads_and_every_form_of_data_parses() -> None:
    first = yaml.safe_load(blocks("yaml")[0])
    assert load_task(parse_task(first), Path()).check().finding("oracle").success == 1
    for block in blocks("json"):
        TypeAdapter(DataSpec).validate_python(json.loads(block))


def test_the_python_example_runs() -> None:
    (source,) = blocks("python")
    source += "assert verdict.value == 1 and report.passed"
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
