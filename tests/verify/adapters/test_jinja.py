"""Our part of Jinja against Jinja itself."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verify.adapters.jinja import Unresolved, names, parse, plain_fields, render

ITEM: dict[str, Any] = {
    "question": "2 + 2?",
    "answer": "2 + 2 = 4\n#### 4",
    "n": 7,
    "choices": {"text": ["a", "b"], "label": ["A", "B"]},
    "braces": "{question} {{x}}",
}
TEMPLATES = [
    "{{question}}",
    "Q: {{ question }}?\nA:\n",
    "{{answer.split('####')[-1].strip() if answer is defined else target}}",
    "{{target if missing is defined else answer}}",
    "{{choices.text[0]}} or {{choices['label'][-1]}}",
    "{{question|upper|trim}} {{n}} {{'x'}} {{ 3 }}",
    "{{answer.rsplit('#', 1)[0].rstrip().upper()}}",
    "{# nothing #}{{braces}} {literal} {% raw %}{{x}}{% endraw %}",
]


def by_jinja(template: str, item: dict[str, Any]) -> str:
    made = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return made.from_string(template).render(item)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_supported_template_renders_as_jinja_renders_it(template: str) -> None:
    assert render(template, ITEM) == by_jinja(template, ITEM)


EXPRESSIONS = st.recursive(
    st.sampled_from(["question", "answer", "choices.text[0]", "choices['label'][1]", "' Txt '"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([".strip()", ".lower()", ".split('#')[0]", "|upper", "|trim"])).map(
            "".join
        ),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} if answer is defined else {two[1]})"),
    ),
    max_leaves=6,
)


@given(st.lists(st.one_of(EXPRESSIONS.map("{{{{ {} }}}}".format), st.sampled_from(["a ", "\n", "{", "}"]))))
def test_made_templates_render_as_jinja_renders_them(parts: list[str]) -> None:
    template = "".join(parts)
    try:
        expected = by_jinja(template, ITEM)
    except jinja2.TemplateError:  # braces that met
        assume(False)
    assert render(template, ITEM) == expected


def test_one_expression_may_give_a_list_and_text_around_it_does_not() -> None:
    assert render("{{choices.text}}", ITEM) == ["a", "b"]
    assert render(" {{choices.text}}", ITEM) == by_jinja(" {{choices.text}}", ITEM)


@pytest.mark.parametrize(
    ("template", "named"),
    [
        ("{% for x in choices %}{{x}}{% endfor %}", "for"),
        ("{% set a = 1 %}", "assign"),
        ("{% include 'x' %}", "include"),
        ("{{ question.__class__.mro() }}", "mro"),
        ("{{ question.format(n) }}", "format"),
        ("{{ 'x' * 1000000000 }}", "mul"),
        ("{{ range(10) }}", "range"),
        ("{{ question|replace('a', 'b') }}", "replace"),
        ("{{ question[0:2] }}", "getitem"),
        ("{{ a if n > 3 else b }}", "is defined"),
        ("{{ question.split(answer) }}", "constants"),
        ("{{ question", "not a Jinja template"),
        ("{{" + "(" * 3000 + "a" + ")" * 3000 + "}}", "not a Jinja template"),
        ("{{ a" + ".b" * 100 + " }}", "inside each other"),
        ("x" * 20_000, "longer"),
    ],
)
def test_the_rest_of_jinja_is_refused_by_name(template: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        parse(template)


@given(st.text(alphabet="{}%#|.'\"()[]ab -\n", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse(text)
    except ValueError:
        return
    try:
        render(text, {"a": "x", "b": {"a": [1]}})
    except (Unresolved, TypeError, ValueError):
        return


@pytest.mark.parametrize(
    "template", ["{{missing}}", "{{n.strip()}}", "{{choices.no}}", "{{choices.text[9]}}"]
)
def test_a_row_that_does_not_fit_is_said_to(template: str) -> None:
    with pytest.raises(Unresolved):
        render(template, ITEM)
    with pytest.raises(Unresolved):
        render("{{question}}", {"question": None})


def test_attributes_of_objects_are_out_of_reach() -> None:
    for template in ("{{question.__class__}}", "{{choices.keys}}", "{{choices.text.append}}"):
        with pytest.raises(Unresolved):
            render(template, ITEM)


def test_a_prompt_template_inserts_fields_only() -> None:
    assert plain_fields("Q: {{question}}\n{json} A:") == "Q: {question}\n{{json}} A:"
    assert names("{{a}} {{b.c}} {{a|trim}}") == ("a", "b")
    with pytest.raises(ValueError, match="computes"):
        plain_fields("{{question.strip()}}")
