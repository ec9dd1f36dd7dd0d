"""Prompts in, votes out: what is read, what is refused, and that a killed writer loses one chunk at most."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from corp.answerfile import AnswerFile
from corp.answers import Ensemble, open_run, read_questions
from corp.errors import OutputUnusable, RunUnfinished
from corp.phases.run import Run
from corp.phases.search import search_phase
from corp.preflight import assemble, claim
from corp.preflight import open_run as open_run_directory
from population.engines.engine import Sampling
from population.errors import ModelUnsupported, TargetExists
from population.proposal import BASE
from tests.corp.jobs import ignore, never, pocket_spec
from tests.corp.test_controls_phase import sections
from verify.errors import DataUnusable
from verify.task import Task, TaskSpec, load_task


@pytest.fixture(scope="module")
def searched(pocket: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has come as far as the end of its search."""
    target = tmp_path_factory.mktemp("searched") / "run"
    search(pocket, target)
    return target


def search(pocket: Path, target: Path) -> None:
    spec = pocket_spec(pocket, **sections(pocket, engine={"batch_size": 4, "threads": 1}))
    prepared = assemble(spec, target.parent)
    claim(target)
    run = Run(prepared=open_run_directory(prepared, target), target=target, emit=ignore, cancelled=never)
    run.phase("search", lambda: search_phase(run))
    run.close()


@pytest.fixture
def opened(searched: Path) -> Any:
    run = open_run(searched, ignore)
    yield run
    run.close()


def addition() -> Task:
    spec = {
        "name": "addition",
        "data": {"generator": "addition", "seed": 0},
        "prompt": {"system": "Add.", "user": "{question}"},
        "verifier": {"kind": "exact"},
        "splits": {"support": 3, "select": 3, "gate": 3, "test": 3},
    }
    return load_task(TaskSpec.model_validate(spec), Path())


def prompts(folder: Path, lines: list[object]) -> Path:
    path = folder / "prompts.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_rows_and_messages_are_read_in_order_and_blank_lines_skipped(tmp_path: Path) -> None:
    own = [{"role": "user", "content": "1+1="}, {"role": "assistant", "content": "2"}]
    path = prompts(tmp_path, [{"question": "12+34="}, "", {"messages": own, "answer": "2"}])
    first, second = read_questions(path, addition())
    assert first.messages == [
        {"role": "system", "content": "Add."},
        {"role": "user", "content": "12+34="},
    ]
    assert (second.messages, second.item["answer"]) == (own, "2")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2 holds a list"),
        ({"q": 1}, "line 2 has no field 'question'"),
        ({"messages": []}, "line 2: 'messages' is not a list of messages"),
        ({"messages": "hi"}, "line 2: 'messages'"),
        ({"messages": [{"role": "user"}]}, "line 2: 'messages'"),
        ({"messages": [{"role": "", "content": "x"}]}, "line 2: 'messages'"),
        ({"messages": [{"role": "user", "content": 3}]}, "line 2: 'messages'"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: object, message: str) -> None:
    with pytest.raises(DataUnusable, match=message):
        read_questions(prompts(tmp_path, [{"question": "1+1="}, line]), addition())


def test_missing_and_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataUnusable, match="is not a file"):
        read_questions(tmp_path / "none.jsonl", addition())
    with pytest.raises(DataUnusable, match="holds no prompts"):
        read_questions(prompts(tmp_path, [""]), addition())


def test_what_is_no_finished_search_is_refused(searched: Path, tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(OutputUnusable, match="holds no run"):
            open_run(directory, ignore)
    (tmp_path / "spec.json").write_text((searched / "spec.json").read_text())
    with pytest.raises(RunUnfinished, match="has not finished"):
        open_run(tmp_path, ignore)
    (tmp_path / "spec.json").write_text("{}")
    with pytest.raises(OutputUnusable, match="holds no run"):
        open_run(tmp_path, ignore)


def test_members_are_those_that_the_search_scored_under_a_scale_table(pocket: Path, tmp_path: Path) -> None:
    population = {"size": 9, "sigmas": [0.01, 0.02], "scale": "rms", "seed": 3}
    prepared = assemble(pocket_spec(pocket, **sections(pocket, population=population)), tmp_path)
    target = tmp_path / "run"
    claim(target)
    searched = open_run_directory(prepared, target)
    searched.close()
    (target / "search.json").write_text('{"dropped": []}')
    with closing(open_run(target, ignore)) as opened:
        assert opened.population == searched.population([0.01, 0.02])
        assert not isinstance(opened.prepared.law.scale, float)


def test_answers_are_the_members_majority(opened: Run, tmp_path: Path) -> None:
    sums = [(a, b) for a in (12, 30, 41, 55) for b in (13, 27, 38)]
    path = prompts(tmp_path, [{"question": f"{a}+{b}="} for a, b in sums])
    questions = read_questions(path, opened.prepared.task)
    ensemble = Ensemble(opened, 5)
    chunks = list(ensemble.answers(questions))
    assert [len(chunk) for chunk in chunks] == [8, 4]
    rows = [row for chunk in chunks for row in chunk]
    assert [row["prompt"] for row in rows] == list(range(1, 13))
    keys = [member.key for member in ensemble.members]
    rewards = opened.result("search")["rewards"]
    assert keys == [f"c{i:05d}" for i in sorted(range(9), key=lambda i: (-rewards[i], i))[:5]]
    for number, member in enumerate(ensemble.members):
        opened.engine.set_weights(member.direction)
        alone = opened.engine.generate([q.messages for q in questions], Sampling(max_new_tokens=4))
        assert [list(row["members"].values())[number] for row in rows] == [c.text for c in alone]
    for row in rows:
        given = list(row["members"].values())
        counts = Counter(given)
        assert row["votes"] == max(counts.values())
        assert row["answer"] == row["completion"] == max(given, key=lambda text: counts[text])
        assert (row["cast"], list(row["members"])) == (5, keys)
    assert any(row["votes"] < 5 for row in rows)


def test_going_on_at_a_chunk_gives_the_same_rows(opened: Run, tmp_path: Path) -> None:
    path = prompts(tmp_path, [{"question": f"{a}+21="} for a in range(10, 30)])
    questions = read_questions(path, opened.prepared.task)
    ensemble = Ensemble(opened, 3)
    whole = [row for chunk in ensemble.answers(questions) for row in chunk]
    assert [row for chunk in ensemble.answers(questions, 16) for row in chunk] == whole[16:]


def test_identity_depends_on_all_that_decides_an_answer(opened: Run, tmp_path: Path) -> None:
    task = opened.prepared.task
    one = read_questions(prompts(tmp_path, [{"question": "1+1="}]), task)
    two = read_questions(prompts(tmp_path, [{"question": "1+2="}]), task)
    found = [Ensemble(opened, 3).identity(one), Ensemble(opened, 2).identity(one)]
    found += [Ensemble(opened, 3).identity(two)]
    assert len(set(found)) == 3
    assert Ensemble(opened, 3).identity(one) == found[0]
    assert BASE.key not in [member.key for member in Ensemble(opened, 100).members]
    assert len(Ensemble(opened, 100).members) == 9


def test_a_prompt_too_long_for_the_model_is_told_with_its_chunk(opened: Run, tmp_path: Path) -> None:
    lines: list[object] = [{"question": "1+1="}] * 8 + [{"question": "1" * 70}]
    questions = read_questions(prompts(tmp_path, lines), opened.prepared.task)
    answers = Ensemble(opened, 2).answers(questions)
    assert len(next(answers)) == 8
    with pytest.raises(ModelUnsupported, match=r"among prompts 9 to 9, numbered from 0 here, prompt 0 needs"):
        next(answers)


ROWS = [{"prompt": n, "answer": "é" if n % 2 else None} for n in range(7)]


def test_the_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "out.jsonl", "me", 3)
    file.append(ROWS[:3])
    assert not file.path.exists()
    file.append(ROWS[3:])
    file.publish()
    assert [json.loads(line) for line in file.path.read_text().splitlines()] == ROWS
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    with pytest.raises(TargetExists):
        AnswerFile(tmp_path / "out.jsonl", "me", 3)


@pytest.mark.parametrize("torn", [0, 1, 20, 28, 29, 90])
def test_a_torn_chunk_is_dropped_and_a_whole_one_kept(tmp_path: Path, torn: int) -> None:
    """Cut at any byte of the second chunk, the file goes on after the first."""
    path = tmp_path / "out.jsonl"
    file = AnswerFile(path, "me", 3)
    file.append(ROWS[:3])
    size = file.partial.stat().st_size
    file.append(ROWS[3:6])
    with file.partial.open("r+b") as data:
        data.truncate(min(size + torn, file.partial.stat().st_size - 1))
    again = AnswerFile(path, "me", 3)
    assert again.done == 3
    again.append(ROWS[3:6])
    again.append(ROWS[6:])
    again.publish()
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS


def test_another_jobs_partial_file_is_refused_and_kept(tmp_path: Path) -> None:
    AnswerFile(tmp_path / "out", "me", 3).append(ROWS[:3])
    before = (tmp_path / "out.partial").read_bytes()
    with pytest.raises(OutputUnusable, match="another run"):
        AnswerFile(tmp_path / "out", "you", 3)
    assert (tmp_path / "out.partial").read_bytes() == before
    (tmp_path / "out.partial").write_text("")
    with pytest.raises(OutputUnusable, match="another run"):
        AnswerFile(tmp_path / "out", "you", 3)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputUnusable, match="cannot be written"):
        AnswerFile(tmp_path / "missing" / "out", "me", 3)
