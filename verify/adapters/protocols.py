"""How other programs call their graders. Runs in a helper process, beside the grader.

Signatures: TRL 1.16 `GRPOTrainer` (huggingface/trl), verl 0.9 reward managers (volcengine/verl), RandOpt's
data handlers, tasks of verifiers 0.4 and rubric functions of 0.1 (PrimeIntellect-ai/verifiers).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from verify.adapters.scores import Score, score, the_one, total

Question = dict[str, Any]
"""item, completion and arguments, and what the protocol needs besides."""


def by_function(graders: list[Any], question: Question) -> Score:
    """`f(item, completion, **arguments)`."""
    return score(settled(graders[0](question["item"], question["completion"], **question["arguments"])))


def by_trl(graders: list[Any], question: Question) -> Score:
    """`f(prompts, completions, completion_ids, **columns) -> list[float | None]`, a batch of one.

    What a trainer knows and a verifier does not is None, so that a function that needs it fails loudly.
    """
    item = question["item"]
    given = {
        **{name: [value] for name, value in item.items() if name not in ("prompt", "completion")},
        "prompts": [item.get("prompt")],
        "completions": [_reply(question)],
        "completion_ids": [None],
        "trainer_state": None,
        "log_extra": _ignore,
        "log_metric": _ignore,
        **question["arguments"],
    }
    return _sum(graders, given, question["weights"] or [1.0] * len(graders), the_one)


def by_verl(graders: list[Any], question: Question) -> Score:
    """`compute_score(data_source, solution_str, ground_truth, extra_info) -> float | dict`."""
    given = {
        "data_source": question["data_source"],
        "solution_str": question["completion"],
        "ground_truth": question["truth"],
        "extra_info": question["extra_info"],
        **question["arguments"],
    }
    return score(settled(graders[0](**_accepted(graders[0], given))), "acc")


def by_randopt(graders: list[Any], question: Question) -> Score:
    """A handler's `compute_reward(response, ground_truth)`, or `compute_score` with the same arguments."""
    call = getattr(graders[0], "compute_reward", graders[0])
    return score(settled(call(question["completion"], question["truth"], **question["arguments"])))


def by_verifiers(graders: list[Any], question: Question) -> Score:
    """A `Task` class with `@vf.reward` methods, a rubric function, or a rubric of such functions."""
    grader, item, text = graders[0], question["item"], question["completion"]
    if inspect.isclass(grader):
        return _by_task(grader, item, text)
    info = item.get("info", {})
    given = {
        "prompt": item.get("prompt"),
        "completion": _reply(question),
        "answer": item.get("answer"),
        "info": info,
        "task": item.get("task", "default"),
        "state": {"completion": _reply(question), "answer": item.get("answer"), "info": info},
        "parser": getattr(grader, "parser", None),
        **question["arguments"],
    }
    functions = getattr(grader, "funcs", None)
    if functions is None:
        return _sum([grader], given, [1.0], score)
    return _sum(functions, given, getattr(grader, "weights", None) or [1.0] * len(functions), score)


def vote(handler: Any, question: Question) -> str | None:
    """What a RandOpt handler reads out of a completion for a vote."""
    for method in ("extract_answer_for_voting", "extract_answer"):
        extract = getattr(handler, method, None)
        if extract is not None:
            numbers = {"numbers": question["item"].get("numbers")}
            wanted = numbers if "numbers" in _names(extract) else {}
            found = extract(question["completion"], **wanted)
            if isinstance(found, tuple):  # countdown's: the answer, whether it is one, and more
                found = found[0] if found[1] else None
            return None if found is None or not str(found).strip() else str(found)
    return question["completion"] if question["completion"].strip() else None


def _by_task(kind: Any, item: dict[str, Any], text: str) -> Score:
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, Trace, TraceTask
    from verifiers.v1.types import AssistantMessage

    task = kind(kind.data_type()(**item))
    _refuse_containers(task)
    trace = Trace(
        task=TraceTask(type=kind.__name__, data=task.data),
        agent=AgentInfo(config=AgentConfig()),
        nodes=[MessageNode(message=AssistantMessage(content=text), sampled=True)],
        is_completed=True,
        ok=True,
    )
    asyncio.run(task.score(trace))
    given = {name: reward for name, reward in trace.rewards.items() if reward is not None}
    parts = {name: float(reward.score) for name, reward in given.items()}
    return Score(float(trace.reward) if given else None, parts)


def _refuse_containers(task: Any) -> None:
    """The library leaves such rewards out where it has no container, and what is left pays for less."""
    for function in task.hooks("reward"):
        runtime = inspect.signature(function).parameters.get("runtime")
        if runtime is not None and runtime.default is runtime.empty:
            raise RuntimeError(f"the reward {function.__name__} needs a container to run in")


def _sum(
    functions: list[Any], given: dict[str, Any], weights: list[float], read: Callable[[Any], Score]
) -> Score:
    """What the functions give, weighted; one alone as it is."""
    found = [read(settled(function(**_accepted(function, given)))) for function in functions]
    if len(found) == 1 and weights[0] == 1:
        return found[0]
    return total(list(zip(map(_name, functions), found, strict=True)), weights)


def settled(result: Any) -> Any:
    """What an async grader gives in the end."""

    async def wait() -> Any:
        return await result

    return asyncio.run(wait()) if inspect.isawaitable(result) else result


def _reply(question: Question) -> Any:
    text = question["completion"]
    return [{"role": "assistant", "content": text}] if question["conversational"] else text


def _accepted(function: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the function has names for; all of them where it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return given
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return given
    return {name: value for name, value in given.items() if name in {one.name for one in parameters}}


def _names(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def _name(grader: Any) -> str:
    return str(getattr(grader, "__name__", type(grader).__name__))


def _ignore(*_: Any, **__: Any) -> None:
    """Stands for a trainer's log."""


Protocol = Callable[[list[Any], Question], Score]
PROTOCOLS: dict[str, Protocol] = {
    "function": by_function,
    "trl": by_trl,
    "verl": by_verl,
    "randopt": by_randopt,
    "verifiers": by_verifiers,
}
