"""`mixed`: another verifier's value and, added to it, how likely the model finds the gold answer."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, JsonValue, PrivateAttr, field_validator, model_validator

from verify.kinds.kind import Grade, Ungradable
from verify.kinds.likelihood import Likelihood, LogProbs
from verify.verdict import Fault, Item, Verdict, Verifier


class Mixed(Likelihood):
    """Value: the other verifier's, plus `weight` times the log-probability of the gold answer.

    The log-probability tells candidates apart that are right equally often; success is the other verifier's
    alone, so that nothing passes a gate for being likely.
    """

    kind: ClassVar[str] = "mixed"
    reads_completion: ClassVar[bool] = True

    verifier: dict[str, JsonValue] = Field(description="kind and parameters of the verifier of the answer")
    weight: float = Field(default=0.1, gt=0, le=100, description="of the log-probability, per nat")
    threshold: float = Field(
        default=1.0, description="the other verifier's value that is a success, where it does not say itself"
    )
    _inner: Verifier = PrivateAttr()

    @field_validator("verifier")
    @classmethod
    def _has_kind(cls, params: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if not isinstance(params.get("kind"), str):
            raise ValueError("needs a kind, for example {kind: exact}")
        return params

    @model_validator(mode="after")
    def _makes(self) -> Mixed:
        """Raises VerifierUnknown and VerifierInvalid of the verifier inside as they are."""
        from verify.registry import verifier  # the registry knows this kind

        params = dict(self.verifier)
        inner = verifier(str(params.pop("kind")), **params)
        if isinstance(inner, Likelihood):
            raise ValueError(f"{inner.kind} cannot be mixed: it reads no answer of its own")
        self._inner = inner
        return self

    @property
    def inner(self) -> Verifier:
        return self._inner

    @property
    def params(self) -> dict[str, Any]:
        return super().params | {"verifier": {"kind": self._inner.kind, **self._inner.params}}

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._inner.fields, self.field)))

    @property
    def control(self) -> bool:
        return self._inner.control

    def weigh(self, item: Item, completion: str, logprobs: LogProbs) -> Grade:
        verdict = self._inner(item, completion)
        if not verdict.valid:
            raise Ungradable(Fault(verdict.error or Fault.EXCEPTION), verdict.detail)
        likelihood = self.reduced(logprobs[0])
        return Grade(
            verdict.value + self.weight * likelihood,
            {**verdict.components, "verifier": verdict.value, "logprob": likelihood},
            self._passed(verdict),
        )

    def oracle(self, item: Item) -> str | None:
        return self._inner.oracle(item)

    def extract(self, item: Item, completion: str) -> str | None:
        return self._inner.answer(item, completion)

    def close(self) -> None:
        self._inner.close()

    def _passed(self, verdict: Verdict) -> bool:
        return verdict.value >= self.threshold if verdict.success is None else verdict.success
