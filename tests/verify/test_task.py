from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from verify import Verdict
from verify.errors import TaskInvalid, VerifierInvalid, VerifierUnknown
from verify.task import SPLITS, Task, TaskSpec, load_task, parse_task

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "tasks").glob("*.yaml"))
BASE: dict[str, Any] = {
    "name": "sums",
    "data": {"generator": "addition", "seed": 1},
    "prompt": {"user": "{question}"},
    "verifier": {"kind": "exact"},
    "splits": {"support": 4, "select": 3, "gate": 5, "test": 6},
}


def load(**changes: Any) -> Task:
    return load_task(parse_task({**BASE, **changes}), Path())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_loads_checks_and_is_answerable(path: Path) -> None:
    task = load_task(parse_task(yaml.safe_load(path.read_text(encoding="utf-8")), str(path)), path.parent)
    report = task.check()
    assert report.finding("valid").score == 1
    if task.verifier.kind == "random":  # the null control has no right answer
        assert report.finding("scores").status == "skip"
    else:
        assert report.finding("oracle").success == 1
        assert report.finding("junk").score == 0
    task.close()


def test_a_task_holds_its_rows_and_asks_for_them() -> None:
    task = load(max_new_tokens=5, stop=["\n"])
    assert {name: len(items) for name, items in task.splits.items()} == BASE["splits"]
    assert tuple(task.splits) == SPLITS
    item = task.splits["gate"][0]
    assert task.messages(item) == [{"role": "user", "content": item["question"]}]
    assert set(item) == {"a", "b", "question", "answer"}
    assert (task.name, task.max_new_tokens, task.stop) == ("sums", 5, ("\n",))


def test_success_needs_a_valid_verdict_at_the_threshold() -> None:
    task = load(pass_threshold=0.5)
    assert task.succeeds(Verdict(0.5, True))
    assert not task.succeeds(Verdict(0.49, True))
    assert not task.succeeds(Verdict(1.0, False, error="timeout"))
    assert not load().succeeds(Verdict(0.99, True))


def test_a_spec_survives_json() -> None:
    spec = parse_task({**BASE, "verifier": {"kind": "json_schema", "schema": {"type": "integer"}}})
    again = TaskSpec.model_validate_json(spec.model_dump_json())
    assert again == spec
    assert load_task(again, Path()).digest == load_task(spec, Path()).digest


def test_an_inlined_task_needs_no_files_and_is_the_same_task(tmp_path: Path) -> None:
    lines = [json.dumps({"q": f"é{n % 40}", "answer": str(n % 40), "id": n % 40}) for n in range(60)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    spec = parse_task({**BASE, "data": {"path": "rows.jsonl"}, "prompt": {"user": "{q}"}, "seed": 9})
    task = load_task(spec, tmp_path)
    inlined = TaskSpec.model_validate_json(task.inline().model_dump_json())
    (tmp_path / "rows.jsonl").unlink()
    again = load_task(inlined, Path("/nowhere"))
    assert again.digest == task.digest
    assert again.splits == task.splits
    assert load_task(again.inline(), Path("/nowhere")).digest == task.digest


@pytest.mark.parametrize(
    "changes",
    [
        {"data": {"generator": "addition", "seed": 2}},
        {"seed": 1},
        {"prompt": {"user": "{question} "}},
        {"prompt": {"system": "Add.", "user": "{question}"}},
        {"prompt": {"shots": [{"user": "1", "assistant": "1"}], "user": "{question}"}},
        {"verifier": {"kind": "numeric"}},
        {"verifier": {"kind": "exact", "strip": False}},
        {"verifier": {"kind": "exact", "max_chars": 100}},
        {"splits": {"support": 5, "select": 3, "gate": 5, "test": 6}},
        {"max_new_tokens": 65},
        {"stop": ["x"]},
        {"pass_threshold": 0.5},
    ],
)
def test_the_digest_changes_with_all_that_can_change_a_score(changes: dict[str, Any]) -> None:
    assert load(**changes).digest != load().digest


def test_the_digest_ignores_the_name_and_spelled_out_defaults() -> None:
    same = {"name": "other", "verifier": {"kind": "exact", "strip": True}, "max_new_tokens": 64, "stop": []}
    assert load(**same).digest == load().digest


def test_the_digest_is_the_same_in_another_process_with_another_hash_seed() -> None:
    source = (
        "import json, sys; from pathlib import Path; from verify.task import load_task, parse_task;"
        "print(load_task(parse_task(json.loads(sys.argv[1])), Path()).digest)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source, json.dumps(BASE)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "12345"},
    )
    assert done.stdout.strip() == load().digest


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"nmae": "x"}, "nmae"),
        ({"name": "../x"}, "name"),
        ({"data": {"file": "x"}}, "data: data is {path"),
        ({"data": {"generator": "lager"}}, "no generator 'lager'"),
        ({"data": {"generator": "larger", "low": 99}}, "low must be below high"),
        ({"prompt": {"user": "{a.b}"}}, "prompt.user"),
        ({"prompt": "{a}"}, "prompt"),
        ({"verifier": {}}, "needs a kind"),
        ({"verifier": "exact"}, "verifier"),
        ({"splits": {"support": 0, "select": 1, "gate": 1, "test": 1}}, "splits.support"),
        ({"splits": {"support": 1, "select": 1, "gate": 1}}, "splits.test"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"max_new_tokens": 32_769}, "max_new_tokens"),
        ({"stop": [""]}, "stop.0"),
        ({"pass_threshold": float("nan")}, "pass_threshold"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(TaskInvalid) as caught:
        parse_task({**BASE, **changes}, "sums.yaml")
    assert named in str(caught.value)


def test_what_is_no_task_at_all_is_refused() -> None:
    for data in (None, [], "larger", 3):
        with pytest.raises(TaskInvalid):
            parse_task(data)


def test_verifier_errors_keep_their_names() -> None:
    with pytest.raises(VerifierUnknown):
        parse_task({**BASE, "verifier": {"kind": "exakt"}})
    with pytest.raises(VerifierInvalid):
        parse_task({**BASE, "verifier": {"kind": "exact", "tol": 1}})
