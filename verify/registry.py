"""Verifiers by name."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from verify.errors import VerifierInvalid, VerifierUnknown
from verify.kinds.choice import Choice
from verify.kinds.coin import Coin
from verify.kinds.countdown import Countdown
from verify.kinds.exact import Exact
from verify.kinds.function import Function
from verify.kinds.gsm8k import Gsm8k
from verify.kinds.gym import Gym
from verify.kinds.json_schema import JsonSchema
from verify.kinds.kind import Kind, describe
from verify.kinds.lm_eval import LmEval
from verify.kinds.logprob import Logprob
from verify.kinds.math import Math
from verify.kinds.mixed import Mixed
from verify.kinds.numeric import Numeric
from verify.kinds.randopt import Randopt
from verify.kinds.regex import Regex
from verify.kinds.trl import Trl
from verify.kinds.verifiers import Verifiers
from verify.kinds.verl import Verl
from verify.verdict import Verifier

_KINDS: Mapping[str, type[Kind]] = {
    model.kind: model
    for model in (
        Choice,
        Coin,
        Countdown,
        Exact,
        Gsm8k,
        Gym,
        JsonSchema,
        LmEval,
        Logprob,
        Math,
        Mixed,
        Numeric,
        Regex,
        Function,
        Randopt,
        Trl,
        Verifiers,
        Verl,
    )
}
KINDS: tuple[str, ...] = tuple(sorted(_KINDS))


def verifier(kind: str, /, **params: object) -> Verifier:
    """The verifier of this kind.

    Args:
        kind: one of `KINDS`.
        params: the kind's parameters; docs/verifiers has a page for each kind.

    Raises:
        VerifierUnknown: there is no such kind.
        VerifierInvalid: a parameter that the kind does not take, or a value that it cannot work with.
    """
    model = _KINDS.get(kind)
    if model is None:
        raise VerifierUnknown(f"there is no verifier of the kind {describe(kind)}", hint=_suggestion(kind))
    try:
        return model.model_validate(params)
    except ValidationError as error:
        problems = "; ".join(map(_problem, error.errors()))
        raise VerifierInvalid(
            f"{kind}: {problems}", hint=f"{kind} takes {', '.join(parameters(kind))}"
        ) from None


def parameters(kind: str) -> tuple[str, ...]:
    """The names of a kind's parameters."""
    return tuple(field.alias or name for name, field in _KINDS[kind].model_fields.items())


def _problem(row: ErrorDetails) -> str:
    unknown = row["type"] == "extra_forbidden"
    message = "no such parameter" if unknown else row["msg"].removeprefix("Value error, ")
    return f"{'.'.join(map(str, row['loc']))}: {message}"


def _suggestion(kind: str) -> str:
    close = get_close_matches(kind, KINDS, n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{meant}The kinds are {', '.join(KINDS)}"
