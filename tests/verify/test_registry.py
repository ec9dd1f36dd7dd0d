from __future__ import annotations

from typing import Any

import pytest

import verify
from verify.errors import VerifierInvalid, VerifierUnknown
from verify.registry import parameters


def test_the_kinds_are_these() -> None:
    assert verify.KINDS == (
        "choice",
        "countdown",
        "exact",
        "function",
        "gsm8k",
        "gym",
        "json_schema",
        "lm_eval",
        "logprob",
        "math",
        "mixed",
        "numeric",
        "random",
        "randopt",
        "regex",
        "trl",
        "verifiers",
        "verl",
    )
    needed: dict[str, dict[str, object]] = {
        "function": {"object": "graders:f"},
        "mixed": {"verifier": {"kind": "exact"}},
        "randopt": {"object": "graders:Handler"},
        "trl": {"functions": ["graders:f"]},
        "verifiers": {"object": "graders:f"},
        "verl": {"object": "graders:f"},
    }
    assert all(
        verify.verifier(kind, **needed.get(kind, {})).kind == kind for kind in verify.KINDS if kind != "gym"
    )


def test_an_unknown_kind_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(VerifierUnknown) as caught:
        verify.verifier("gsm8")
    assert "did you mean gsm8k?" in str(caught.value)
    assert all(kind in str(caught.value) for kind in verify.KINDS if kind != "gym")


@pytest.mark.parametrize(
    ("kind", "params", "named"),
    [
        ("exact", {"feild": "x"}, "feild: no such parameter"),
        ("exact", {"strip": "yes"}, "strip"),
        ("exact", {"max_chars": 0}, "max_chars"),
        ("numeric", {"tol": -1.0}, "tol"),
        ("numeric", {"tol": float("nan")}, "tol"),
        ("numeric", {"tol": "0.1"}, "tol"),
        ("numeric", {"which": "first"}, "which"),
        ("regex", {"pattern": "(("}, "pattern: not a regular expression"),
        ("regex", {"pattern": "a", "timeout": 0}, "timeout"),
        ("regex", {"pattern": "a", "mode": "match"}, "mode"),
        ("json_schema", {"schema": {"type": 3}}, "schema"),
        ("json_schema", {"schema_": {}}, "schema_"),
        ("gsm8k", {"strict": 1}, "strict"),
        ("countdown", {"use_all": None}, "use_all"),
        ("random", {"p": 1.5}, "p"),
        ("random", {"seed": -1}, "seed"),
        ("choice", {"kind": "exact"}, "kind"),
    ],
)
def test_a_bad_parameter_is_named_beside_the_accepted_ones(
    kind: str, params: dict[str, Any], named: str
) -> None:
    with pytest.raises(VerifierInvalid) as caught:
        verify.verifier(kind, **params)
    assert named in caught.value.detail
    assert all(name in caught.value.hint for name in parameters(kind))


def test_parameters_are_reported_with_their_defaults() -> None:
    judge = verify.verifier("numeric", tol=0.5)
    assert judge.params == {
        "max_chars": 32768,
        "field": "answer",
        "tol": 0.5,
        "rel_tol": 0.0,
        "which": "last",
    }
    assert verify.verifier("numeric", **judge.params).params == judge.params
