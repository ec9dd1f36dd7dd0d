from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.mathematics.final import Stated, final_answer

BOX = r"\boxed{"


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        (r"so $\boxed{\frac{1}{2}}$.", r"\frac{1}{2}"),
        (r"\boxed{4}, no: \boxed{5}", "5"),
        (r"\boxed{\text{a \} b}}", r"\text{a \} b}"),
        (r"\boxed{\boxed{5}}", "5"),
        (r"\fbox{7}", "7"),
        (r"The answer is 3. $\boxed{5}$", "5"),
        (r"\boxed{4} or \boxed{5}", "4; 5"),
        (r"$\boxed{1}$ and $\boxed{-2}$.", "1; -2"),
        ("\\boxed{5}\n\n\\boxed{5}", "5"),
        (r"\boxed{4}. Then 2+3 gives \boxed{5}", "5"),
        ("9 * 2 = 18\n#### 18", "18"),
        ("####18\nmore", "18"),
        ("#### \n 18", "18"),
        (r"\boxed{4} #### 5", "5"),
        (r"#### 5 \boxed{4}", "4"),
        ("The answer is 3.5.", "3.5"),
        ("The final answer is: $\\frac{1}{2}$. I hope it is correct.", r"$\frac{1}{2}$"),
        ("**Answer:** 42", "42"),
        ("**Answer**: 42", "42"),
        ("Answer: The answer is 5", "5"),
        ("The answers are 1 and 2.", "1 and 2"),
        ("The answer to the question of the day is\n\n$$\n7\n$$", "7"),
        ("answer is 1. The answer is 2. So it was.", "2"),
        ("answer = 9", "9"),
        ("It costs $3. The answer is $4. He has $5 left.", "$4"),
        ("42", "42"),
        (" x = 5 \n", "x = 5"),
    ],
)
def test_the_last_answer_counts(completion: str, text: str) -> None:
    found = final_answer(completion)
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize(
    "completion",
    [
        "",
        " \n",
        r"\boxed{5",
        r"\boxed{5} \boxed{6",
        "18\n#### ",
        "two\nlines",
        "x" * 201,
        r"\boxed{}",
        "answer: ",
    ],
)
def test_no_answer_is_stated(completion: str) -> None:
    assert final_answer(completion) is None


def test_only_a_box_and_the_mark_are_marks() -> None:
    marked = {
        text: found.marked
        for text in (r"\boxed{5}", "#### 5", "answer is 5", "5")
        if (found := final_answer(text))
    }
    assert list(marked.values()) == [True, True, False, False]


TEXT = st.lists(
    st.sampled_from([BOX, "}", "{", "####", "answer is", "5", ". ", "$", "\\", "\n", " or "]), max_size=30
)


@given(st.one_of(TEXT.map("".join), st.text(max_size=100)))
def test_any_text_states_something_or_nothing(text: str) -> None:
    found = final_answer(text)
    assert found is None or (isinstance(found, Stated) and found.text and found.text == found.text.strip())


@given(st.text(max_size=50), st.text(alphabet="0123456789x+-/ ", min_size=1, max_size=20))
def test_a_box_at_the_end_is_the_answer_whatever_stands_before(before: str, inner: str) -> None:
    found = final_answer(before.replace("\\", "") + "\nso " + BOX + inner + "}")
    assert (found.text if found else "") == inner.strip()
