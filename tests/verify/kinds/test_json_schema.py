from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from verify import Verifier, verifier
from verify.errors import VerifierInvalid

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Verifier]:
    made = verifier("json_schema", schema=SCHEMA)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        ('{"answer": 5}', 1),
        (' {"answer": 5}\n', 1),
        ('```json\n{"answer": 5}\n```', 1),
        ('```\n{"answer": 5}\n```', 1),
        ('{"answer": 5.0}', 1),
        ('{"answer": "5"}', 0),
        ('{"answer": 5, "why": 1}', 0),
        ("{}", 0),
        ("[5]", 0),
        ("5", 0),
        ("", 0),
        ('{"answer": 5', 0),
        ('The answer: {"answer": 5}', 0),
        ('{"answer": 5} ok', 0),
        ('{"answer": 4, "answer": 5}', 0),
        ('{"answer": NaN}', 0),
        ('{"answer": -Infinity}', 0),
        ('{"answer": 1e999}', 0),
        ("{'answer': 5}", 0),
        ('{"answer": ' + "9" * 5000 + "}", 0),
        ("[" * 5000 + "]" * 5000, 0),
    ],
)
def test_all_of_the_completion_must_be_json_of_the_shape(
    judge: Verifier, completion: str, value: float
) -> None:
    verdict = judge({}, completion)
    assert (verdict.value, verdict.valid, verdict.error) == (value, True, None)


def test_components_tell_json_from_shape(judge: Verifier) -> None:
    assert judge({}, "no").components == {"format": 0, "schema": 0}
    assert judge({}, "{}").components == {"format": 1, "schema": 0}
    assert judge({}, '{"answer": 1}').components == {"format": 1, "schema": 1}


def test_a_fence_can_be_required_or_refused() -> None:
    fenced, bare = '```json\n{"answer": 5}\n```', '{"answer": 5}'
    for fence, values in {"allow": (1, 1), "require": (1, 0), "refuse": (0, 1)}.items():
        made = verifier("json_schema", schema=SCHEMA, fence=fence)
        assert (made({}, fenced).value, made({}, bare).value) == values
        made.close()


@pytest.mark.parametrize(
    ("wanted", "completion", "value"),
    [
        ({"answer": 5}, '{"answer": 5}', 1),
        ({"answer": 5}, '{"answer": 5.0}', 1),
        ({"answer": 5}, '{"answer": 6}', 0),
        ([1, {"a": None}], '[1, {"a": null}]', 1),
        ([True], "[1]", 0),
        ([1], "[true]", 0),
        ([False], "[0]", 0),
        ("5", '"5"', 1),
        ("5", "5", 0),
    ],
)
def test_the_value_can_be_asked_for(wanted: Any, completion: str, value: float) -> None:
    made = verifier("json_schema", schema={}, expected="answer")
    assert made.fields == ("answer",)
    assert made({"answer": wanted}, completion).value == value
    assert made({"answer": wanted}, made.oracle({"answer": wanted}) or "").value == 1
    made.close()


def test_items_may_bring_their_own_schema() -> None:
    made = verifier("json_schema")
    assert made({"schema": {"type": "integer"}}, "5").value == 1
    assert made({"schema": {"type": "string"}}, "5").value == 0
    for bad in ({"type": "no such type"}, "integer", {"$ref": "https://example.org/s.json"}):
        assert made({"schema": bad}, "5").error == "item_value"
    made.close()


def test_references_inside_the_schema_work_and_those_out_of_it_are_refused() -> None:
    tree = {"$ref": "#/$defs/node", "$defs": {"node": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}
    made = verifier("json_schema", schema=tree)
    assert made({}, "[[], [[]]]").value == 1
    assert made({}, "[[], [5]]").value == 0
    made.close()
    for reference in ("https://example.org/s.json", "file:///etc/passwd", "other.json#/a"):
        with pytest.raises(VerifierInvalid, match="leaves the schema"):
            verifier("json_schema", schema={"properties": {"a": {"$ref": reference}}})


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"$ref": "#/$defs/missing"}])
def test_a_schema_that_leads_nowhere_is_an_error_and_not_a_zero(schema: dict[str, Any]) -> None:
    made = verifier("json_schema", schema=schema)
    verdict = made({}, "5")
    assert (verdict.valid, verdict.error) == (False, "item_value")
    made.close()


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "objekt"}, "type"),
        ({"minimum": "3"}, "minimum"),
        ({"properties": {"a": {"pattern": "("}}}, "is not a .*regex"),
        ({"patternProperties": {"(": {}}}, "is not a .*regex"),
        ({"$schema": "https://example.org/draft"}, "draft"),
        ({"description": "x" * 70_000}, "65536"),
        ("integer", "schema"),
    ],
)
def test_an_unusable_schema_is_refused_when_the_verifier_is_made(schema: Any, why: str) -> None:
    with pytest.raises(VerifierInvalid, match=why):
        verifier("json_schema", schema=schema)


def test_older_drafts_are_read_as_such() -> None:
    tuple_form = {"items": [{"type": "integer"}, {"type": "string"}]}
    old = verifier("json_schema", schema={"$schema": "http://json-schema.org/draft-07/schema#", **tuple_form})
    assert old({}, '[1, "a"]').value == 1
    assert old({}, '["a", 1]').value == 0
    old.close()
    with pytest.raises(VerifierInvalid):  # 2020-12 calls this prefixItems
        verifier("json_schema", schema=tuple_form)


def test_parameters_survive_json(judge: Verifier) -> None:
    params = json.loads(json.dumps(judge.params))
    assert params["schema"] == SCHEMA
    assert verifier("json_schema", **params).params == judge.params
