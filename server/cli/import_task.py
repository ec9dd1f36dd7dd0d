"""``corp import-task``: another program's task file as one of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from server.cli.output import Command, note, print_json

if TYPE_CHECKING:
    from verify.errors import TaskInvalid

_DEEPEST = 8  # includes inside each other


@click.command("import-task", cls=Command, short_help="Turn an lm-eval task file into a task file.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="Default: standard output."
)
@click.option("--rows", metavar="FILE", help="JSONL file with its rows, relative to the new task file.")
@click.option("--filter", "pipeline", metavar="NAME", help="Filter to score by; default: the first.")
def import_task(file: Path, out: Path | None, rows: str | None, pipeline: str | None, as_json: bool) -> None:
    """Turn an lm-eval `generate_until` YAML into a task file.

    Prompts that insert fields, the filters regex, take_first, remove_whitespace, lowercase and uppercase, and
    exact_match. Python in the file (`!function`) is refused. Splits get sizes that you will want to look at.

    Example: corp import-task gsm8k.yaml --rows gsm8k.jsonl -o gsm8k-task.yaml
    """
    from verify.adapters.lm_eval import Importer

    importer = Importer(read(file), where=str(file), rows=rows, pipeline=pipeline)
    task = importer.task()
    if out is not None:
        from population.publish import publish_bytes

        publish_bytes(out, written(task, importer.notes).encode())
    if as_json:
        print_json({"task": task, "notes": importer.notes})
        return
    if out is None:
        click.echo(written(task, importer.notes), nl=False)
    for one in importer.notes:
        note(one)


def read(file: Path, room: int = _DEEPEST) -> Any:
    """The YAML with what it includes, its own fields winning.

    Raises:
        SpecInvalid: it cannot be read or is not YAML.
        TaskInvalid: it names Python code, or includes go in circles.
    """
    from corp.errors import SpecInvalid
    from corp.taskfiles import read_yaml

    if room == 0:
        raise _invalid(file, "its includes go too deep")
    try:
        data = read_yaml(file)
    except SpecInvalid:
        if file.is_file() and "!function" in file.read_text(encoding="utf-8", errors="replace"):
            raise _invalid(file, "it names Python code (!function), which is not imported") from None
        raise
    included = data.get("include") if isinstance(data, Mapping) else None
    if included is None:
        return data
    parents = [read(file.parent / str(name), room - 1) for name in _listed(included)]
    merged: dict[str, Any] = {}
    for one in (*parents, {name: value for name, value in data.items() if name != "include"}):
        merged |= one if isinstance(one, Mapping) else {}
    return merged


def written(task: Mapping[str, Any], notes: Sequence[str]) -> str:
    """The task file, with what there is to do or to know at its head."""
    import yaml

    body = yaml.safe_dump(dict(task), sort_keys=False, allow_unicode=True, width=100)
    return "".join(f"# {line}\n" for line in notes) + body


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _invalid(file: Path, detail: str) -> TaskInvalid:
    from verify.errors import TaskInvalid

    return TaskInvalid(
        f"{file}: {detail}", hint="write the scoring as a verifier of your own, docs/verifiers/function.md"
    )
