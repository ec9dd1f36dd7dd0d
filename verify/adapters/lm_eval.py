"""Task files of lm-eval (EleutherAI/lm-evaluation-harness 0.4) as task files of ours.

`generate_until` tasks whose prompt inserts fields and whose filters are the simple ones. Code (`!function`,
`process_docs`, `class`) is not imported: what it does has to become a verifier of one's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from verify.adapters import jinja
from verify.errors import TaskInvalid
from verify.kinds.lm_eval import template
from verify.task import parse_task

_CODE = ("process_docs", "process_results", "doc_to_choice", "class", "custom_dataset", "doc_to_image")
_METRIC_OPTIONS = ("ignore_case", "ignore_punctuation", "ignore_numbers", "regexes_to_ignore")
_SPLITS = {"support": 128, "select": 128, "gate": 256, "test": 256}
_TOKENS = 256  # lm-eval's own default for max_gen_toks
_STOPS = 16

Task = dict[str, Any]


class Importer:
    """One lm-eval task and what was lost on the way.

    Args:
        source: the YAML's content, includes resolved.
        where: what to call it in an error.
        rows: a JSONL file with its rows, in place of the data set that it names.
        pipeline: the name of the filter pipeline to score by; default: the first.
    """

    def __init__(
        self, source: object, *, where: str, rows: str | None = None, pipeline: str | None = None
    ) -> None:
        if not isinstance(source, Mapping):
            raise self._refused(where, "it is not an object of named fields")
        self.source = source
        self.where = where
        self.rows = rows
        self.pipeline = pipeline
        self.notes: list[str] = []

    def task(self) -> Task:
        """The task as plain data, checked.

        Raises:
            TaskInvalid: a part that cannot be imported, named.
        """
        self._refuse_code()
        found: Task = {
            "name": re.sub(r"[^A-Za-z0-9._ -]", "_", str(self.source.get("task", "task"))),
            "data": {"path": self._data()},
            "prompt": self._prompt(),
            "verifier": self._verifier(),
            "splits": dict(_SPLITS),
            **self._generation(),
        }
        parse_task(found, self.where)
        return found

    def _refuse_code(self) -> None:
        kind = self.source.get("output_type", "generate_until")
        if kind != "generate_until":
            raise self._refused(self.where, f"output_type {kind} is not supported, only generate_until")
        for name in _CODE:
            if self.source.get(name) is not None:
                raise self._refused(self.where, f"{name} is not supported")
        if self._count("repeats") > 1:
            self.notes.append("repeats is dropped: one completion is scored")

    def _data(self) -> str:
        if self.rows is not None:
            return self.rows
        options = self.source.get("dataset_kwargs") or {}
        files = options.get("data_files") if isinstance(options, Mapping) else None
        if isinstance(files, Mapping):
            files = files.get(self._split(), next(iter(files.values()), None))
        if self.source.get("dataset_path") == "json" and isinstance(files, str):
            return files
        named = " ".join(
            str(self.source[key]) for key in ("dataset_path", "dataset_name") if self.source.get(key)
        )
        path = f"{self.source.get('task', 'rows')}.jsonl"
        self.notes.append(f"put the rows of {named or 'its data set'}, split {self._split()}, into {path}")
        return path

    def _split(self) -> str:
        names = ("test_split", "validation_split", "training_split")
        return next((str(self.source[name]) for name in names if self.source.get(name)), "train")

    def _prompt(self) -> dict[str, Any]:
        text = self._text("doc_to_text")
        try:
            prompt: dict[str, Any] = {"user": jinja.plain_fields(template(text))}
        except ValueError as error:
            raise self._refused(self.where, f"doc_to_text: {error}") from None
        about = self.source.get("description")
        if isinstance(about, str) and about.strip():
            prompt = {"system": about.strip(), **prompt}
        prefix = self.source.get("gen_prefix")
        if prefix:
            raise self._refused(self.where, "gen_prefix is not supported: a completion starts by itself")
        shots = self._shots(template(text))
        return {**prompt, "shots": shots} if shots else prompt

    def _shots(self, question: str) -> list[dict[str, str]]:
        wanted = self._count("num_fewshot")
        config = self.source.get("fewshot_config") or {}
        samples = config.get("samples") if isinstance(config, Mapping) else None
        if wanted and not isinstance(samples, list):
            self.notes.append(f"num_fewshot {wanted} is dropped: add solved examples under prompt.shots")
        if not wanted or not isinstance(samples, list):
            return []
        answer = template(self._text("doc_to_target"))
        return [self._shot(question, answer, sample) for sample in samples[:wanted]]

    def _shot(self, question: str, answer: str, sample: Any) -> dict[str, str]:
        try:
            user, assistant = jinja.render(question, sample), jinja.render(answer, sample)
        except (ValueError, jinja.Unresolved, AttributeError) as error:
            raise self._refused(self.where, f"fewshot_config.samples: {error}") from None
        first = assistant[0] if isinstance(assistant, list) else assistant
        return {"user": str(user), "assistant": str(first).strip()}

    def _verifier(self) -> dict[str, Any]:
        target = self._text("doc_to_target")
        try:
            jinja.parse(template(target))
        except ValueError as error:
            raise self._refused(self.where, f"doc_to_target: {error}") from None
        return {"kind": "lm_eval", "target": target, "filters": self._filters(), **self._metric()}

    def _filters(self) -> list[dict[str, Any]]:
        listed = self.source.get("filter_list") or []
        if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
            raise self._refused(self.where, "filter_list is not a list of objects")
        named = {str(one.get("name", number)): one for number, one in enumerate(listed)}
        if self.pipeline is not None and self.pipeline not in named:
            raise self._refused(self.where, f"there is no filter {self.pipeline}, only {', '.join(named)}")
        if not named:
            return []
        chosen = self.pipeline or next(iter(named))
        if len(named) > 1:
            self.notes.append(f"scored by the filter {chosen}; there are {', '.join(named)}")
        steps = named[chosen].get("filter") or []
        for step in steps:
            self._check_filter(step, chosen)
        return [dict(step) for step in steps]

    def _check_filter(self, step: Any, chosen: str) -> None:
        known = ("regex", "take_first", "remove_whitespace", "lowercase", "uppercase")
        function = step.get("function") if isinstance(step, Mapping) else step
        if function not in known:
            raise self._refused(
                self.where, f"filter {chosen}: {function} is not supported, only {', '.join(known)}"
            )

    def _metric(self) -> dict[str, Any]:
        metrics = self.source.get("metric_list") or [{"metric": "exact_match"}]
        rows = [one for one in metrics if isinstance(one, Mapping) and one.get("metric") == "exact_match"]
        if not rows:
            raise self._refused(self.where, "metric_list has no exact_match, the only metric supported")
        if len(metrics) > 1:
            self.notes.append("metrics other than exact_match are dropped")
        return {name: rows[0][name] for name in _METRIC_OPTIONS if rows[0].get(name)}

    def _generation(self) -> dict[str, Any]:
        options = self.source.get("generation_kwargs") or {}
        if not isinstance(options, Mapping):
            raise self._refused(self.where, "generation_kwargs is not an object")
        until = options.get("until") or []
        stops = [until] if isinstance(until, str) else list(until)
        if options.get("do_sample"):
            self.notes.append("do_sample is dropped: how completions are drawn is the job's matter")
        tokens = options.get("max_gen_toks", options.get("max_tokens", _TOKENS))
        found: dict[str, Any] = {"max_new_tokens": tokens}
        return {**found, "stop": [stop for stop in stops if stop][:_STOPS]} if stops else found

    def _count(self, name: str) -> int:
        value = self.source.get(name) or 0
        if not isinstance(value, int):
            raise self._refused(self.where, f"{name} is not a whole number")
        return value

    def _text(self, name: str) -> str:
        value = self.source.get(name)
        if not isinstance(value, str) or not value:
            raise self._refused(self.where, f"{name} is not a text")
        return value

    @staticmethod
    def _refused(where: str, detail: str) -> TaskInvalid:
        return TaskInvalid(
            f"{where}: {detail}", hint="docs/verifiers/lm_eval.md says what can be imported from lm-eval"
        )
