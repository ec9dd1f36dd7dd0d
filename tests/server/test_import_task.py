"""`corp import-task`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from server.cli.import_task import import_task
from tests.verify.adapters.test_lm_eval import GSM8K, imported
from verify.task import parse_task


def run(*arguments: str) -> Any:
    return CliRunner().invoke(import_task, list(arguments))


def test_the_command_writes_a_task_file_that_loads(tmp_path: Path) -> None:
    (tmp_path / "gsm8k.yaml").write_text(GSM8K)
    (tmp_path / "mine.yaml").write_text(
        'include: gsm8k.yaml\ntask: mine\ngeneration_kwargs: {until: ["\\n\\n"]}\n'
    )
    done = run(str(tmp_path / "mine.yaml"), "-o", str(tmp_path / "out.yaml"), "--rows", "rows.jsonl")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "out.yaml").read_text()
    assert text.startswith("# num_fewshot 5 is dropped")
    task = parse_task(yaml.safe_load(text))
    assert (task.name, task.stop, task.max_new_tokens) == ("mine", ("\n\n",), 256)
    assert yaml.safe_load(run(str(tmp_path / "gsm8k.yaml")).stdout) == imported()[0]
    assert json.loads(run(str(tmp_path / "gsm8k.yaml"), "--json").stdout)["task"]["name"] == "gsm8k"


def test_code_circles_and_what_is_no_yaml_end_with_a_clear_error(tmp_path: Path) -> None:
    cases = {
        "code.yaml": ("doc_to_text: !function utils.text\n", "!function"),
        "circle.yaml": ("include: circle.yaml\n", "too deep"),
        "broken.yaml": ("a: [\n", "not valid YAML"),
        "list.yaml": ("- 1\n", "not an object"),
        "orphan.yaml": ("include: missing.yaml\n", "cannot be read"),
    }
    for name, (text, named) in cases.items():
        (tmp_path / name).write_text(text)
        done = run(str(tmp_path / name))
        assert done.exit_code == 2, (name, done.output)
        assert named in done.output, name
