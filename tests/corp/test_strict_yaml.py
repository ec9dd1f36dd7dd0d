from __future__ import annotations

import pytest

from corp.strict_yaml import loads


def test_plain_values() -> None:
    assert loads("a: {b: [1, 0.5, text, null]}") == {"a": {"b": [1, 0.5, "text", None]}}
    assert loads("") is None


def test_merged_keys_may_be_overridden() -> None:
    assert loads("x: &x {a: 1, b: 2}\ny: {<<: *x, a: 3}")["y"] == {"a": 3, "b": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "the key a stands twice at line 3, column 1"),
        ("x: {a: 1, a: 2}", "the key a stands twice at line 1, column 11"),
        ("a: [", "at line 1"),
        ("!!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("[" * 5000, "nested too deeply"),
        ("a: 1\n b: 2", "mapping values are not allowed here"),
    ],
)
def test_what_is_refused_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        loads(text)
    assert "\n" not in str(caught.value)
    assert "unicode string" not in str(caught.value)
