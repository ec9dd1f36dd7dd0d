from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from verify import verifier
from verify.errors import TaskInvalid
from verify.generators import GENERATORS, WORDS, generator


@pytest.mark.parametrize("name", GENERATORS)
def test_rows_are_distinct_json_and_a_function_of_the_seed(name: str) -> None:
    family = generator(name)
    rows = list(islice(family.rows(1), 500))
    texts = [json.dumps(row) for row in rows]
    assert len(set(texts)) == 500
    assert rows == list(islice(generator(name).rows(1), 500))
    assert rows[:10] == list(islice(family.rows(1), 10))
    other = [json.dumps(row) for row in islice(family.rows(2), 500)]
    assert other != texts


@pytest.mark.parametrize(
    ("name", "params", "size"),
    [
        ("larger", {}, 90 * 89),
        ("larger", {"low": 0, "high": 3}, 12),
        ("addition", {"digits": 1}, 100),
        ("countdown", {"count": 2, "low": 1, "high": 4}, 10),
        ("second_item", {"count": 2}, 80 * 79),
    ],
)
def test_the_size_is_the_number_of_rows(name: str, params: dict[str, Any], size: int) -> None:
    family = generator(name, **params)
    rows = [json.dumps(row) for row in family.rows(0)]
    assert family.size == size == len(rows) == len(set(rows))


def test_larger_pairs_two_different_two_digit_numbers_with_the_larger() -> None:
    rows = list(generator("larger").rows(0))
    assert {(row["a"], row["b"]) for row in rows} == {
        (a, b) for a in range(10, 100) for b in range(10, 100) if a != b
    }
    assert all(row["answer"] == str(max(row["a"], row["b"])) for row in rows)


def test_addition_pads_to_a_fixed_width() -> None:
    by_pair = {(row["a"], row["b"]): row for row in generator("addition").rows(0)}
    assert by_pair[12, 34] == {"a": 12, "b": 34, "question": "12+34=", "answer": "046"}
    assert by_pair[5, 0] == {"a": 5, "b": 0, "question": "05+00=", "answer": "005"}
    assert by_pair[99, 99]["answer"] == "198"
    assert {len(row["question"]) for row in by_pair.values()} == {6}
    bare = {(row["a"], row["b"]): row for row in generator("addition", padded=False).rows(0)}
    assert bare[5, 0] == {"a": 5, "b": 0, "question": "5+0=", "answer": "5"}


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_countdown_instances_have_the_solution_they_carry(count: int) -> None:
    judge = verifier("countdown")
    family = generator("countdown", count=count, limit=120)
    rows = list(islice(family.rows(5), 300))
    for row in rows:
        assert judge(row, f"<answer>{row['answer']}</answer>").value == 1, row
        assert len(row["numbers"]) == count
        assert 1 <= row["target"] <= 120
    plain = sum(set(row["answer"]) <= set("0123456789 +()") for row in rows)
    assert plain < len(rows) / 2  # sums are the exception


def test_word_lists_are_what_their_names_say() -> None:
    assert len(set(WORDS)) == len(WORDS)
    for row in islice(generator("second_item").rows(0), 50):
        assert row["items"].split(", ")[1] == row["answer"]
    for row in islice(generator("reverse_words", count=4).rows(0), 50):
        assert row["answer"].split() == row["words"].split()[::-1]
        assert len(set(row["words"].split())) == 4
    for row in islice(generator("copy_words").rows(0), 50):
        assert row["answer"] == row["words"]


@pytest.mark.parametrize(
    ("name", "params", "named"),
    [
        ("larger", {"hihg": 5}, "hihg"),
        ("larger", {"low": 9, "high": 9}, "low must be below high"),
        ("larger", {"low": -1}, "low"),
        ("addition", {"digits": 0}, "digits"),
        ("addition", {"digits": "2"}, "digits"),
        ("countdown", {"count": 7}, "count"),
        ("countdown", {"count": 6, "limit": 100}, "limit must be at least"),
        ("second_item", {"count": 1}, "count"),
    ],
)
def test_bad_parameters_are_named(name: str, params: dict[str, Any], named: str) -> None:
    with pytest.raises(TaskInvalid, match=named):
        generator(name, **params)


def test_an_unknown_generator_lists_the_known_ones() -> None:
    with pytest.raises(TaskInvalid, match=r"did you mean larger\?.*addition.*copy_words"):
        generator("lager")
