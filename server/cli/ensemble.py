"""``corp ensemble``: new prompts answered by a vote of a run's best members."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.cli.output import Command, note, print_json

if TYPE_CHECKING:
    from corp.answers import Ensemble, Question

HELP = """Answer the prompts in FILE by a majority vote of the best members of the search in RUN.

    Each line of FILE is a row as the run's task has them, or {"messages": [...]}. Every member answers every
    prompt, so this costs K times what one model costs; ties go to the member with the higher reward on
    support. Prints one JSON line per prompt, or writes them to --out: killed and started again, it goes on
    where it was.

    Example: corp ensemble runs/larger --prompts questions.jsonl --k 8 --out answers.jsonl
    """


@click.command(
    "ensemble", cls=Command, help=HELP, short_help="Answer prompts by a vote of a run's best members."
)
@click.argument("run", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--prompts", required=True, type=click.Path(path_type=Path, dir_okay=False), help="JSONL file of prompts."
)
@click.option(
    "--k",
    default=8,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Members that vote, the best first.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="File for the answers; must not exist."
)
def ensemble(run: Path, prompts: Path, k: int, out: Path | None, as_json: bool) -> None:
    from corp.answers import Ensemble, open_run, read_questions
    from server.cli.progress import ProgressPrinter

    with closing(ProgressPrinter()) as printer, closing(open_run(run, printer)) as opened:
        questions = read_questions(prompts, opened.prepared.task)
        voters = Ensemble(opened, k)
        if len(voters.members) < k:
            note(f"the search has {len(voters.members)} members; all of them vote")
        if out is None:
            _print(voters, questions)
        else:
            _write(voters, questions, out, as_json)


def _print(voters: Ensemble, questions: Sequence[Question]) -> None:
    for rows in voters.answers(questions):
        for row in rows:
            print_json(row)


def _write(voters: Ensemble, questions: Sequence[Question], out: Path, as_json: bool) -> None:
    from corp.answerfile import AnswerFile

    file = AnswerFile(out, voters.identity(questions), voters.chunk)
    if file.done:
        note(f"{file.done} of {len(questions)} prompts are answered already")
    for rows in voters.answers(questions, file.done):
        file.append(rows)
    file.publish()
    if as_json:
        print_json({"out": str(out), "prompts": len(questions), "members": [m.key for m in voters.members]})
    else:
        click.echo(f"{len(questions)} prompts answered by {len(voters.members)} members: {out}")
