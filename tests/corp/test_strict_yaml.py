from __future__ import annotations

import pytest

from corp.strict_yaml import loads


def test_plain_values() -> None:
    assert loads("a: {b: [1, 0.5, text, null]}") == {"a": {"b": [1, 0.5, "text", None]}}
    assert loads("") is None


def test_merged_keys_may_be_overridden() -> None:
    assert loads("x: &x {a: 1, b: 2}\ny: {<<: *x, a: 3}")["y"] == {"a": 3, "b": 2}


BOMB = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))


def test_an_alias_may_be_used_now_and_then() -> None:
    assert loads("rows: &r [{a: 1}]\nsupport: *r\ngate: *r")["gate"] == [{"a": 1}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "the key a stands twice at line 3, column 1"),
        ("x: {a: 1, a: 2}", "the key a stands twice at line 1, column 11"),
        ("a: [", "at line 1"),
        ("!!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("[" * 5000, "nested too deeply"),
        ("a: 1\n b: 2", "mapping values are not allowed here"),
        ("a: " + "9" * 5000, "4300 digits"),
        ("a: 2024-99-99", "month"),
        ("a: !!timestamp x", "does not fit its tag"),
        ("a: !!bool perhaps", "does not fit its tag"),
        ("a: &a [*a]", "contains itself"),
        (BOMB, "aliases stand for too many"),
    ],
)
def test_what_is_refused_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        loads(text)
    assert "\n" not in str(caught.value)
    assert "unicode string" not in str(caught.value)
