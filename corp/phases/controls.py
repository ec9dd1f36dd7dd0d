"""The rows that a result is read against, on the test split. Nothing is chosen by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corp.controls import Outcomes, calibrated, closed_labels, random_merge, ranking, row
from corp.ensemble import ballots, elect, outcome
from corp.errors import Paused
from corp.phases.finalists import chosen_candidate
from corp.phases.labels import likelihoods
from corp.phases.run import Run
from corp.phases.staging import Stage
from population.answering import Draws
from population.proposal import BASE, Candidate
from population.table import Table
from verify.kinds.likelihood import Likelihood

SPLIT = "test"
PHASE = "controls"


def controls_phase(run: Run) -> dict[str, object]:
    """The base, the chosen model, and what a sceptic would ask for beside them.

    Returns:
        rows: each with n, score, paired difference to the base with a 95 % interval, fixes, regressions,
        completions and tokens per prompt; skipped: rows that could not be had, and why.
    """
    n = len(run.prepared.task.splits[SPLIT])
    controls = Controls(run)
    if n == 0:
        controls.skip("controls", "the task has no test rows")
    else:
        controls.fill()
    return {
        "split": SPLIT,
        "n": n,
        "temperature": run.prepared.spec.controls.temperature,
        "members": [member.key for member in controls.members],
        "rows": controls.rows,
        "skipped": controls.skipped,
    }


@dataclass
class Controls:
    """The table while it is filled."""

    run: Run
    rows: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    base: Outcomes = field(init=False)

    def __post_init__(self) -> None:
        self.spec = self.run.prepared.spec.controls
        population, rewards = self.run.population, self.run.result("search")["rewards"]
        best = ranking(rewards, max(self.spec.k))
        self.members = [population[index] for index in best] if len(set(rewards)) > 1 else []

    def fill(self) -> None:
        steps: list[tuple[str, Callable[[], None]]] = [
            ("merges", self.merges),
            ("members", self.votes),
            ("self_consistency", self.self_consistency),
            ("label_likelihood", self.labels),
        ]
        try:
            self.baseline()
        except Paused as error:
            self.skip("controls", str(error))
            return
        for name, step in steps:
            try:
                step()
            except Paused as error:
                self.skip(name, str(error))

    def baseline(self) -> None:
        table = self.run.score(PHASE, SPLIT, [BASE])
        self.base = Outcomes(table.success[0], table.valid[0])
        self.single("base", BASE, table)

    def merges(self) -> None:
        """The chosen model, and random merges of its length."""
        if not self.run.finished("gate"):
            last = "recenter" if self.run.finished("recenter") else "consolidate"
            self.skip("merges", f"nothing went to the gate: {self.run.result(last)['reason']}")
            return
        chosen, seed = chosen_candidate(self.run), self.run.prepared.spec.population.seed
        self.single("chosen", chosen, self.run.score(PHASE, SPLIT, [chosen]))
        numbers = range(self.spec.seed, self.spec.seed + self.spec.random)
        randoms = [random_merge(chosen, self.run.population, seed, number) for number in numbers]
        with Stage(self.run, randoms) as stage:
            table = self.run.score(PHASE, SPLIT, randoms, stage.switch)
        for number, candidate in zip(numbers, randoms, strict=True):
            self.single(f"random_mean-{number}", candidate, table)

    def votes(self) -> None:
        """The best member alone, and votes of the best K."""
        if not self.members:
            self.skip("members", "every candidate has the same reward on support: there is no ranking")
            return
        table = self.run.score(PHASE, SPLIT, self.members)
        self.single("top1", self.members[0], table)
        self.elections("vote", self.members, table)

    def self_consistency(self) -> None:
        """The base asked as often as the ensemble, by drawing (Wang et al. 2022, arXiv 2203.11171)."""
        judge = self.run.prepared.task.verifier
        if isinstance(judge, Likelihood) and not judge.reads_completion:
            self.skip("self_consistency", f"verifier {judge.kind} reads no completion that could be drawn")
            return
        draws = Draws(self.spec.temperature, seed=self.spec.seed)
        stem = f"{BASE.key}~t{self.spec.temperature:g}"
        samples = [Candidate(f"{stem}#{number}", None, 0.0) for number in range(max(self.spec.k))]
        table = self.run.score(PHASE, SPLIT, samples, sampling=draws)
        self.elections("self_consistency", samples, table)

    def elections(self, name: str, voters: list[Candidate], table: Table) -> None:
        task = self.run.prepared.task
        texts = [self.run.store.texts(voter.key, SPLIT) for voter in voters]
        answers = ballots(task.verifier, task.splits[SPLIT], texts)
        for k in self.spec.k:
            size = min(k, len(voters))
            found = Outcomes(*outcome(table, [elect(ballot[:size]) for ballot in answers]))
            self.add(f"{name}-{k}", found, size, self.tokens(voters[:size]))

    def labels(self) -> None:
        """The base's likeliest label, no search and no generation."""
        task = self.run.prepared.task
        if isinstance(task.verifier, Likelihood):
            self.skip("label_likelihood", f"verifier {task.verifier.kind} judges likelihoods by itself")
            return
        labels, reason = closed_labels(task.verifier, task.splits["support"])
        if reason:
            self.skip("label_likelihood", reason)
            return
        support, test = (likelihoods(self.run, PHASE, split, labels) for split in ("support", SPLIT))
        verdicts = [
            task.verifier(item, labels[index])
            for item, index in zip(task.splits[SPLIT], calibrated(test, support), strict=True)
        ]
        found = Outcomes(
            np.array(list(map(task.succeeds, verdicts)), np.bool_),
            np.array([verdict.valid for verdict in verdicts], np.bool_),
        )
        self.add("label_likelihood", found, len(labels), 0.0)

    def single(self, name: str, candidate: Candidate, table: Table) -> None:
        index = table.keys.index(candidate.key)
        found = Outcomes(table.success[index], table.valid[index])
        self.add(name, found, 1, self.tokens([candidate]))

    def add(self, name: str, found: Outcomes, passes: int, tokens: float) -> None:
        line = row(name, self.base, found, passes=passes, tokens=tokens)
        if line is None:
            self.skip(name, "no prompt has a valid verdict for both this and the base")
        else:
            self.rows.append(line)

    def skip(self, name: str, reason: str) -> None:
        self.skipped.append({"name": name, "reason": reason})

    def tokens(self, candidates: list[Candidate]) -> float:
        """Tokens generated per prompt by all of them together."""
        total = sum(self.run.store.tokens(candidate.key, SPLIT) for candidate in candidates)
        return total / len(self.run.prepared.task.splits[SPLIT])
