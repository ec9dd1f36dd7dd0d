"""`choice`: multiple choice. Statements of an answer are read; letters are never fished out of prose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import ClassVar

from verify.kinds.kind import Grade, Kind, Ungradable, describe, graded, read
from verify.verdict import Fault, Item

# "Answer: B", "So the correct answer is (B)." The colon form claims to be the answer whatever follows it.
_MARKED = re.compile(
    r"(?:(?:so|thus|hence|therefore),?\s+)?(?:the\s+)?(?:(?:correct|final|right|best)\s+)?"
    r"(?:answer|option|choice)\s*(?P<link>:|=|\bis\b:?|(?=\s\(?\w\b))\s*(?P<rest>\S.*)",
    re.IGNORECASE,
)
# "B", "(B)", "[B]", "B.", "B)", "B:", each with nothing or the choice's own text behind it
_LABELLED = re.compile(
    r"(?:\((?P<round>\w+)\)|\[(?P<square>\w+)\]|(?P<bare>\w+))(?P<tail>(?:[.):]\s*)?.*)", re.DOTALL
)
_EMPHASIS = "*_` \t"


class Choice(Kind):
    """Reads `choices` (a list, or labels mapped to texts) and `answer` (a label, a list index or a text).

    A line states a choice when all of it is the label (`B`, `(B)`, `B.`), the label and that choice's text
    (`B) Paris`), or the text, each possibly behind `Answer:` or `The answer is`. Lines marked so outrank the
    others. Exactly one choice may be stated; two are a wrong answer, and so is none.
    """

    kind: ClassVar[str] = "choice"

    @property
    def fields(self) -> tuple[str, ...]:
        return ("choices", "answer")

    def grade(self, item: Item, completion: str) -> Grade:
        choices = _choices(item)
        gold = _gold(read(item, "answer"), choices)
        stated = _stated(completion, choices)
        return graded(stated == {gold}, format=len(stated) == 1)

    def extract(self, item: Item, completion: str) -> str | None:
        stated = _stated(completion, _choices(item))
        return stated.pop() if len(stated) == 1 else None

    def oracle(self, item: Item) -> str | None:
        return _gold(read(item, "answer"), _choices(item))


def _choices(item: Item) -> dict[str, str]:
    given = read(item, "choices")
    if isinstance(given, list | tuple) and 2 <= len(given) <= len(ascii_uppercase):
        given = dict(zip(ascii_uppercase, given, strict=False))
    if not isinstance(given, Mapping) or len(given) < 2:
        raise Ungradable(Fault.ITEM_VALUE, f"the item's 'choices' is {describe(given)}, not 2 to 26 choices")
    choices = {str(label).strip(): str(text).strip() for label, text in given.items()}
    labels = {label.casefold() for label in choices}
    if len(labels) < len(given) or len(set(choices.values())) < len(given) or not all(choices.values()):
        raise Ungradable(Fault.ITEM_VALUE, "the item's 'choices' has a label or text twice, or a blank one")
    return choices


def _gold(answer: object, choices: Mapping[str, str]) -> str:
    """The label of the right choice."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        if str(answer) in choices:  # labels that are numbers are meant before positions
            return str(answer)
        if 0 <= answer < len(choices):
            return list(choices)[answer]
    meant = _named(answer.strip(), choices) if isinstance(answer, str) else set()
    if len(meant) != 1:
        raise Ungradable(Fault.ITEM_VALUE, f"the item's 'answer' {describe(answer)} names no single choice")
    return meant.pop()


def _named(text: str, choices: Mapping[str, str]) -> set[str]:
    """The choices whose label or text this is."""
    return {
        label
        for label, choice in choices.items()
        if text.casefold() == label.casefold() or text in (choice, f"{choice}.")
    }


def _stated(completion: str, choices: Mapping[str, str]) -> set[str]:
    """The choices that the completion states as its answer."""
    whole = _named(completion.strip(), choices)
    if whole:
        return whole
    marked: set[str] = set()
    plain: set[str] = set()
    for line in completion.splitlines():
        bare = line.strip(_EMPHASIS)
        match = _MARKED.fullmatch(bare)
        found = _statement(match["rest"].strip(_EMPHASIS), choices) if match else set()
        if match and match["link"] in (":", "=") and not found:
            return set()  # "Answer: A or B" is no answer, whatever the other lines say
        marked |= found
        plain |= _statement(bare, choices)
    return marked or plain


def _statement(text: str, choices: Mapping[str, str]) -> set[str]:
    """The choices that this text is a statement of, as a whole."""
    named = _named(text, choices)
    match = _LABELLED.fullmatch(text)
    if match is None:
        return named
    label = next(filter(None, (match["round"], match["square"], match["bare"])))
    tail = match["tail"]
    delimited = match["bare"] is None or tail[:1] in (".", ")", ":")
    behind = tail.lstrip(".): ").strip(_EMPHASIS)
    owners = {key for key in choices if key.casefold() == label.casefold()}
    if owners and (not tail or (delimited and not behind)):
        return named | owners
    if owners and delimited:
        texts = {key for key, choice in choices.items() if behind in (choice, f"{choice}.")}
        return named | (owners | texts if texts else set())
    return named
