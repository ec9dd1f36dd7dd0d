"""What the gate of a job needs and what it can show, before anything is scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corp.errors import GateTooSmall
from corp.gate.guard import require
from corp.gate.paper import LEVEL
from corp.gate.power import DISCORDANCE, detectable_gain, warning
from corp.spec import GateSpec, GuardSpec, JobSpec
from corp.verifiercheck import Examined
from verify.errors import CorpError
from verify.task import Task, load_task


def first_level(gate: GateSpec) -> float:
    """What the smallest p-value is held against: alpha over their number, the first of Holm's levels."""
    return LEVEL if gate.policy == "paper" else gate.alpha / gate.proposals


def check_size(gate: GateSpec, n: int) -> None:
    """Refuse a gate split of ``n`` prompts on which hardly anything could be shown.

    Raises:
        GateTooSmall: fewer than gate.min_prompts, which is 30 or more.
    """
    if n < gate.min_prompts:
        raise GateTooSmall(
            f"the gate split has {n} prompts; the held-out decision needs at least {gate.min_prompts}",
            hint="raise task.splits.gate; 200 or more is a good start (docs/gate.md)",
        )


def load_guards(spec: JobSpec, folder: Path, examined: Examined) -> tuple[Task, ...]:
    """The guard tasks, each examined as the job's own task is.

    Raises:
        GuardInvalid: too few gate prompts for its margin.
        CorpError: anything else that is wrong with a guard, which the error names.
    """
    gate = spec.gate
    return tuple(_load(guard, folder, gate.alpha / gate.proposals, examined) for guard in gate.guards)


def _load(guard: GuardSpec, folder: Path, level: float, examined: Examined) -> Task:
    try:
        task = load_task(guard.task, folder)
        examined.report(task)
    except CorpError as error:
        raise type(error)(f"guard {guard.task.name}: {error.detail}", hint=error.hint) from None
    require(task.name, len(task.splits["gate"]), guard.margin, level)
    return task


def outlook(gate: GateSpec, n: int, base: float | None = None) -> dict[str, Any]:
    """What ``n`` gate prompts can show.

    Args:
        base: the share of prompts that the base passes on another split, once it is known.

    Returns:
        ``level``, ``detectable_gain`` (a share, with power 0.8 and 20 % discordant prompts; None where no
        gain would do) and, where there is a reason for one, ``warning``.
    """
    level = first_level(gate)
    headroom = 1 - base if base is not None and 0 <= base <= 1 else 1.0
    warnings = [text for text in (warning(n, level, headroom), _lax(gate)) if text]
    found = {"level": level, "detectable_gain": detectable_gain(n, DISCORDANCE, alpha=level)}
    return {**found, "warning": "; ".join(warnings)} if warnings else found


def statement(gate: GateSpec, n: int, base: float | None = None) -> str:
    """The outlook as one line of the log."""
    found = outlook(gate, n, base)
    if "warning" in found:
        return f"warning: {found['warning']}"
    gain = found["detectable_gain"]
    return (
        f"{n} gate prompts show a gain from {100 * gain:.1f} points on in four of five tries"
        f" (level {found['level']:.2g}, {100 * DISCORDANCE:.0f} % of the answers changed)"
    )


def _lax(gate: GateSpec) -> str | None:
    if gate.policy == "strict":
        return None
    return "gate.policy is paper: about one in six candidates that are no better than the base is accepted"
