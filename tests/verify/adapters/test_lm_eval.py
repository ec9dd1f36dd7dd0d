"""lm-eval's tasks: scored as it scores them, imported or refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from verify import verifier
from verify.adapters.lm_eval import Importer
from verify.errors import TaskInvalid, VerifierInvalid
from verify.task import load_task, parse_task

GSM8K = r"""
task: gsm8k
dataset_path: openai/gsm8k
dataset_name: main
output_type: generate_until
test_split: test
doc_to_text: "Question: {{question}}\nAnswer:"
doc_to_target: "{{answer}}"
metric_list:
  - metric: exact_match
    ignore_case: true
    ignore_punctuation: false
    regexes_to_ignore: [",", "\\$", "(?s).*#### ", "\\.$"]
generation_kwargs: {until: ["Question:", "</s>"], do_sample: false, temperature: 0.0}
num_fewshot: 5
filter_list:
  - name: strict-match
    filter: [{function: regex, regex_pattern: "#### (\\-?[0-9\\.\\,]+)"}, {function: take_first}]
  - name: flexible-extract
    filter:
      - {function: regex, group_select: -1, regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)"}
      - {function: take_first}
metadata: {version: 3.0}
"""
ROWS = [{"question": f"{n} + 1?", "answer": f"{n} + 1 = {n + 1}\n#### {n + 1:,}"} for n in range(995, 1040)]


def source(**changes: Any) -> dict[str, Any]:
    return {**yaml.safe_load(GSM8K), **changes}


def imported(pipeline: str | None = None, **changes: Any) -> tuple[dict[str, Any], list[str]]:
    importer = Importer(source(**changes), where="gsm8k.yaml", pipeline=pipeline)
    return importer.task(), importer.notes


def test_an_imported_task_loads_and_scores_as_the_harness_does(tmp_path: Path) -> None:
    task, notes = imported()
    assert any("openai/gsm8k main, split test, into gsm8k.jsonl" in note for note in notes)
    assert any("num_fewshot 5 is dropped" in note for note in notes)
    (tmp_path / "gsm8k.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    task["splits"] = {"support": 5, "select": 5, "gate": 30, "test": 5}
    loaded = load_task(parse_task(task), tmp_path)
    assert loaded.check().finding("oracle").success == 1
    assert loaded.messages(ROWS[0])[-1]["content"] == "Question: 995 + 1?\nAnswer:"
    cases = {"#### 1,000": 1, "#### 1000": 1, "so\n#### $1000": 0, "#### 1000.": 1, "1000": 0, "#### 1001": 0}
    row = {"answer": "999 + 1 = 1000\n#### 1,000"}
    assert {text: loaded.verifier(row, text).value for text in cases} == cases
    loaded.close()


def test_another_filter_may_score(tmp_path: Path) -> None:
    task, notes = imported(pipeline="flexible-extract")
    assert any("scored by the filter flexible-extract" in note for note in notes)
    params = {name: value for name, value in task["verifier"].items() if name != "kind"}
    judge = verifier("lm_eval", **params)
    row = {"answer": "#### 18"}
    assert [judge(row, text).value for text in ("first 17, then $18.", "18 or 17", "none")] == [1, 0, 0]
    assert judge.answer(row, "it is $1,800") == "1800"
    assert judge.answer(row, "none") is None
    judge.close()


def test_stops_limits_description_and_samples_come_along() -> None:
    samples = [{"question": "1+1", "answer": "#### 2"}, {"question": "2+2", "answer": "#### 4"}]
    task, notes = imported(
        description="Solve these.\n\n",
        num_fewshot=1,
        fewshot_config={"sampler": "first_n", "samples": samples},
        generation_kwargs={"until": "\n", "max_gen_toks": 32},
    )
    assert task["prompt"]["system"] == "Solve these."
    assert task["prompt"]["shots"] == [{"user": "Question: 1+1\nAnswer:", "assistant": "#### 2"}]
    assert (task["stop"], task["max_new_tokens"]) == (["\n"], 32)
    assert not any("num_fewshot" in note for note in notes)


def test_a_local_json_data_set_is_the_tasks_own() -> None:
    task, notes = imported(
        dataset_path="json", dataset_kwargs={"data_files": {"test": "t.jsonl", "train": "r.jsonl"}}
    )
    assert task["data"] == {"path": "t.jsonl"}
    assert not any("put the rows" in note for note in notes)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"output_type": "multiple_choice"}, "output_type multiple_choice"),
        ({"process_docs": "utils.f"}, "process_docs"),
        ({"doc_to_text": "{% if a %}b{% endif %}"}, "doc_to_text: {% if %} is not supported"),
        ({"doc_to_text": "{{question.strip()}}"}, "doc_to_text: .*computes"),
        ({"doc_to_text": None}, "doc_to_text is not a text"),
        ({"doc_to_target": "{{[a, b]}}"}, "doc_to_target: list is not supported"),
        ({"doc_to_target": 3}, "doc_to_target is not a text"),
        ({"filter_list": [{"name": "x", "filter": [{"function": "majority_vote"}]}]}, "majority_vote"),
        (
            {"filter_list": [{"name": "x", "filter": [{"function": "regex", "regex_pattern": "("}]}]},
            "regular",
        ),
        ({"filter_list": 3}, "filter_list"),
        ({"metric_list": [{"metric": "bleu"}]}, "no exact_match"),
        ({"num_fewshot": "many"}, "num_fewshot"),
        ({"generation_kwargs": {"max_gen_toks": "all"}}, "max_new_tokens"),
        ({"gen_prefix": "A"}, "gen_prefix"),
        ({"num_fewshot": 1, "fewshot_config": {"samples": [{"answer": "x"}]}}, "fewshot_config.samples"),
    ],
)
def test_what_cannot_be_imported_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises((TaskInvalid, VerifierInvalid), match=named):
        imported(**changes)


def test_a_missing_filter_and_a_list_for_a_file_are_refused() -> None:
    with pytest.raises(TaskInvalid, match=r"no filter loose, only strict-match, flexible-extract"):
        imported(pipeline="loose")
    with pytest.raises(TaskInvalid, match="not an object"):
        Importer([1], where="x.yaml")


def test_a_catastrophic_filter_is_stopped() -> None:
    filters = [{"function": "regex", "regex_pattern": "(a+)+$"}]
    judge = verifier("lm_eval", filters=filters, timeout=0.1)
    assert judge({"answer": "aaa"}, "aaa").value == 1
    assert judge({"answer": "aaa"}, "a" * 40 + "b").error == "timeout"
    judge.close()


def test_blank_targets_pass_nothing_and_several_pass_any() -> None:
    judge = verifier("lm_eval", target="{{names}}", ignore_punctuation=True)
    assert judge({"names": ["!", "Bo"]}, "Bo.").value == 1
    assert judge({"names": ["!", "Bo"]}, "?").value == 0
    assert judge({"names": ["!"]}, "?").error == "item_value"
    assert judge({"names": []}, "?").error == "item_value"
    assert judge({"names": "['a', 'b']"}, "b").value == 1
    assert judge({}, "b").error == "item_field"
    judge.close()
