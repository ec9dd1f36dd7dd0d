"""``corp ensemble`` as people call it: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from server.command import corp
from tests.corp.test_answers import search

QUESTIONS = [{"question": f"{a}+{b}="} for a in range(12, 22) for b in (13, 27)]


def call(*arguments: object) -> Result:
    return CliRunner().invoke(corp, ["ensemble", *map(str, arguments)])


@pytest.fixture(scope="module")
def searched(pocket: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("searched") / "run"
    search(pocket, target)
    return target


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    return path


def test_answers_are_printed_line_by_line_and_written_the_same(searched: Path, prompts: Path) -> None:
    printed = call(searched, "--prompts", prompts, "--k", 3)
    assert printed.exit_code == 0, printed.stderr
    rows = [json.loads(line) for line in printed.stdout.splitlines()]
    assert [row["prompt"] for row in rows] == list(range(1, 21))
    assert {len(row["members"]) for row in rows} == {3}
    assert "ensemble" in printed.stderr  # progress
    out = prompts.parent / "answers.jsonl"
    written = call(searched, "--prompts", prompts, "--k", 3, "--out", out, "--json")
    assert json.loads(written.stdout) == {
        "out": str(out),
        "prompts": 20,
        "members": list(rows[0]["members"]),
    }
    assert out.read_text() == printed.stdout
    again = call(searched, "--prompts", prompts, "--k", 3, "--out", out, "--json")
    assert (again.exit_code, json.loads(again.stdout)["error"]["code"]) == (2, "target_exists")


def test_more_members_than_there_are_is_told(searched: Path, prompts: Path) -> None:
    prompts.write_text(json.dumps({"messages": [{"role": "user", "content": "12+34="}]}))
    done = call(searched, "--prompts", prompts, "--k", 50)
    assert done.exit_code == 0
    assert "the search has 9 members; all of them vote" in done.stderr
    assert len(json.loads(done.stdout)["members"]) == 9


def test_mistakes_are_one_line_and_exit_code_2(searched: Path, prompts: Path, tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "spec.json").write_text((searched / "spec.json").read_text())
    (tmp_path / "bad.jsonl").write_text('{"question": "1+1="}\nnot JSON\n')
    for run, file, code in (
        (tmp_path / "none", prompts, "output_unusable"),
        (tmp_path / "begun", prompts, "run_unfinished"),
        (searched, tmp_path / "none.jsonl", "data_unusable"),
        (searched, tmp_path / "bad.jsonl", "data_unusable"),
    ):
        done = call(run, "--prompts", file, "--json")
        assert done.exit_code == 2
        assert json.loads(done.stdout)["error"]["code"] == code
        assert done.stderr.startswith(f"error [{code}]: ")
        assert done.stderr.count("\n") == 1
    assert call(searched, "--prompts", prompts, "--k", 0).exit_code == 2


@pytest.mark.slow
def test_killed_and_started_again_it_goes_on_to_the_same_file(searched: Path, prompts: Path) -> None:
    with prompts.open("a") as file:
        file.writelines(f'{{"question": "{a}+{b}="}}\n' for a in range(30, 38) for b in range(10, 40))
    whole, out = prompts.parent / "whole.jsonl", prompts.parent / "out.jsonl"
    assert call(searched, "--prompts", prompts, "--k", 4, "--out", whole).exit_code == 0
    partial = out.with_name("out.jsonl.partial")
    command = [sys.executable, "-m", "server.command", "ensemble", str(searched), "--prompts", str(prompts)]
    process = subprocess.Popen(
        [*command, "--k", "4", "--out", str(out)],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    while process.poll() is None and not (partial.exists() and partial.stat().st_size > 3_000):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert partial.exists()
    assert not out.exists()
    done = call(searched, "--prompts", prompts, "--k", 4, "--out", out)
    assert "prompts are answered already" in done.stderr
    assert out.read_bytes() == whole.read_bytes()
    assert not partial.exists()
