"""The gate's prompts scored again, in a process that has seen nothing of the run.

    python -m corp.rescore CHECKPOINT EVIDENCE

loads the directory as any user would, without a direction, and prints the outcomes as one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corp.errors import AuditFailed
from corp.evidence import GateEvidence, outcomes
from verify.errors import CorpError

SAME = "the engine is the same, so the weights or the files beside them are not what passed the gate"


@dataclass(frozen=True, slots=True)
class Rescored:
    """Outcome of the comparison.

    Attributes:
        prompts: how many gate prompts.
        differing: those whose value or success is another one than the gate's.
        texts: those whose completion is another one.
        changed: names of the engine's properties that differ from the gate's.
    """

    prompts: int
    differing: int
    texts: int
    changed: tuple[str, ...]


def rescore(directory: Path, evidence: Path) -> Rescored:
    """Score the gate's prompts with the exported weights and compare prompt by prompt.

    Raises:
        AuditFailed: any value differs, or the checkpoint or the evidence cannot be used.
    """
    expected = GateEvidence.read(evidence)
    found = _child(directory, evidence)
    if "error" in found:
        raise AuditFailed(f"scoring {directory} again failed: {found['error']}", hint=found["hint"])
    result = _compare(expected, found)
    if result.differing:
        raise AuditFailed(
            f"{directory} scores otherwise than at the gate: {result.differing} of {result.prompts} prompts",
            hint=_hint(result.changed),
        )
    return result


def _hint(changed: tuple[str, ...]) -> str:
    if not changed:
        return SAME
    changes = ", ".join(changed)
    return f"another engine can differ in a logit's last bits; repeat it where the gate ran: {changes}"


def _compare(expected: GateEvidence, found: dict[str, Any]) -> Rescored:
    repeated = [tuple(one) if one else None for one in found["outcomes"]]
    pairs = zip(expected.outcomes(), repeated, strict=True)
    texts = zip(expected.texts, found["texts"], strict=True)
    identity = expected.identity.keys() | found["identity"].keys()
    return Rescored(
        prompts=len(expected.values),
        differing=sum(before != after for before, after in pairs),
        texts=sum(before != after for before, after in texts),
        changed=tuple(
            f"{key} ({found['identity'].get(key)}, at the gate {expected.identity.get(key)})"
            for key in sorted(identity)
            if expected.identity.get(key) != found["identity"].get(key)
        ),
    )


def _child(directory: Path, evidence: Path) -> dict[str, Any]:
    packages = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "corp.rescore", str(directory.resolve()), str(evidence.resolve())]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        cause = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise AuditFailed(
            f"scoring {directory} again ended with exit code {done.returncode}: {cause[:300]}",
            hint="a negative code is a signal; -9 is mostly too little memory",
        )
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _score(directory: Path, evidence: GateEvidence) -> dict[str, Any]:
    from population.checkpoint import Checkpoint
    from population.engines.torch import TorchEngine
    from population.proposal import BASE
    from population.scoring import score
    from population.store import ScoreStore
    from verify.task import load_task

    settings = evidence.engine
    task = load_task(evidence.task, directory)
    engine = TorchEngine(
        Checkpoint.open(directory),
        device=settings.device,
        storage=settings.storage,
        compute=settings.compute,
        batch_size=settings.batch_size,
        threads=settings.threads,
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(task),
        closing(engine),
        ScoreStore.open(Path(folder) / "scores.sqlite", {}) as store,
    ):
        table = score(engine, task, "gate", [BASE], store, block_size=settings.batch_size)
        texts = store.texts(BASE.key, "gate")
    columns = (column[0].tolist() for column in (table.values, table.valid, table.success))
    return {
        "outcomes": outcomes(*columns),
        "texts": list(texts),
        "identity": {key: str(value) for key, value in engine.identity.items()},
    }


def main(arguments: list[str]) -> None:
    directory, evidence = map(Path, arguments)
    try:
        result = _score(directory, GateEvidence.read(evidence))
    except CorpError as error:
        result = {"error": error.detail, "hint": error.hint}
    print(json.dumps(result, allow_nan=False))


if __name__ == "__main__":
    main(sys.argv[1:])
