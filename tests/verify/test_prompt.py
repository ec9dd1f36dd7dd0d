from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from verify.errors import DataUnusable
from verify.prompt import PromptSpec, Shot, render, template_fields

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
literals = st.text(max_size=20).filter(lambda text: "{" not in text and "}" not in text)


@given(
    st.lists(st.one_of(literals, names.map(lambda name: (name,)), st.sampled_from(["{", "}"])), max_size=8)
)
def test_a_template_renders_to_its_parts(parts: list[str | tuple[str]]) -> None:
    template, expected, item = "", "", {}
    for position, part in enumerate(parts):
        if isinstance(part, tuple):
            item.setdefault(part[0], f"<{position}>{{x}}")
            template += f"{{{part[0]}}}"
            expected += item[part[0]]
        else:
            template += part * 2 if part in ("{", "}") else part
            expected += part
    assert render(template, item) == expected
    assert set(template_fields(template)) == set(item)


@pytest.mark.parametrize(
    "template",
    ["{", "}", "{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>10}", "{ a }", "{a b}", "{é}", "{{a}", "{a"],
)
def test_a_template_knows_plain_names_only(template: str) -> None:
    with pytest.raises(ValidationError, match=r"brace at position|names no"):
        PromptSpec(user=f"{template} {{ok}}" if template != "{{a}" else template)


def test_a_template_without_a_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="every row would ask the same"):
        PromptSpec(user="Say {{hello}}")


def test_values_are_text_numbers_or_json() -> None:
    item = {"a": "é{b}", "b": 1.5, "c": [1, "é"], "d": {"k": None}, "e": True}
    assert render("{a}|{b}|{c}|{d}|{e}", item) == 'é{b}|1.5|[1, "é"]|{"k": null}|True'


def test_messages_stand_in_order_and_only_the_question_is_a_template() -> None:
    prompt = PromptSpec(
        system="Answer {briefly}.",
        shots=(Shot(user="{1}+1", assistant="{2}"),),
        user="{a}+{b}",
    )
    assert prompt.messages({"a": 1, "b": 2}) == [
        {"role": "system", "content": "Answer {briefly}."},
        {"role": "user", "content": "{1}+1"},
        {"role": "assistant", "content": "{2}"},
        {"role": "user", "content": "1+2"},
    ]
    assert PromptSpec(user="{a}").messages({"a": 1}) == [{"role": "user", "content": "1"}]


@pytest.mark.parametrize("item", [{"a": 1}, {"a": 1, "b": None}, {}])
def test_a_missing_field_names_the_row_and_the_field(item: dict[str, object]) -> None:
    with pytest.raises(DataUnusable, match=r"rows\.jsonl, line 7 has no field 'b'"):
        PromptSpec(user="{a}+{b}").messages({"a": 1, **item}, "rows.jsonl, line 7")
